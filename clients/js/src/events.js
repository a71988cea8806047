// Server-sent events from a response's body. (`EventSource` sends no header, and a token does not belong into an address.)

/** Calls `on({ event, data, id })` for each event and `alive()` for whatever comes, until the stream ends or is aborted. */
export async function readEvents(body, signal, on, alive) {
  signal.throwIfAborted()
  const reader = body.getReader()
  // An abort does not always reach a read that waits already.
  const aborted = new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason)
      reader.cancel().catch(() => {})
    })
  })
  const decoder = new TextDecoder()
  let rest = ''
  let event = {}
  for (;;) {
    const { done, value } = await Promise.race([reader.read(), aborted])
    if (done) return
    alive()
    const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n/)
    rest = lines.pop()
    for (const line of lines) {
      if (line === '') {
        if (event.data !== undefined) on(event)
        event = {}
      } else if (line[0] !== ':') {
        const [, name, text] = /^([^:]*):? ?(.*)$/.exec(line)
        event[name] = name === 'data' && event.data !== undefined ? `${event.data}\n${text}` : text
      }
    }
  }
}
