// A proxy between client and server that does what networks do: it cuts, delays, tells twice, and answers by itself.

import { createServer, request } from 'node:http'

/** A generator of numbers from 0 to 1 that a seed repeats. */
export function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export class Proxy {
  constructor(port) {
    this.port = port
    /** Says what is done to a request: `{ answer, cut, cutAfter, delay, twice }`, or nothing. */
    this.fault = () => undefined
    this.requests = []
    this.cuts = 0
    this.streams = 0
    this.mostStreams = 0
    this.server = createServer((from, to) => this.#pass(from, to))
  }

  static async before(port) {
    const proxy = new Proxy(port)
    await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    proxy.origin = `http://127.0.0.1:${proxy.server.address().port}`
    proxy.url = `${proxy.origin}/api/v1`
    return proxy
  }

  close() {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(resolve))
  }

  #pass(from, to) {
    const stream = from.url.startsWith('/api/v1/events')
    this.requests.push({ method: from.method, url: from.url, at: Date.now(), stream })
    const fault = this.fault({ method: from.method, url: from.url, stream }) ?? {}
    const cut = () => {
      this.cuts += 1
      to.destroy()
    }
    if (fault.answer) {
      const [status, headers = {}] = [].concat(fault.answer)
      to.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      to.end(JSON.stringify({ status, code: `test-${status}`, detail: 'so the test wanted' }))
      return
    }
    if (fault.cut) return cut()
    const options = { host: '127.0.0.1', port: this.port, method: from.method, path: from.url, headers: from.headers }
    const onward = request(options, (answer) => {
      setTimeout(() => {
        if (to.destroyed) return onward.destroy()
        to.writeHead(answer.statusCode, answer.headers)
        if (stream) this.#count(to)
        if (fault.cutAfter !== undefined) setTimeout(cut, fault.cutAfter)
        answer.on('data', (chunk) => {
          to.write(chunk)
          // Only whole events can be told twice.
          if (fault.twice && stream && chunk.toString().endsWith('\n\n')) to.write(chunk)
        })
        answer.on('end', () => to.end())
        answer.on('error', () => to.destroy())
      }, fault.delay ?? 0)
    })
    onward.on('error', () => to.destroy())
    to.on('close', () => onward.destroy())
    from.pipe(onward)
  }

  #count(to) {
    this.streams += 1
    this.mostStreams = Math.max(this.mostStreams, this.streams)
    to.on('close', () => (this.streams -= 1))
  }
}
