// Following jobs: one stream for all of them; where that fails, one request after the other; and back to the stream.

import { isEnded } from './job.js'
import { readEvents } from './events.js'

/** So many ids are followed by one stream; the others have their turn when some have ended. */
const MOST = 1000
/** So many ids are asked for at once: longer addresses are refused by some proxies. */
const CHUNK = 200

export const TIMES = {
  gather: 20, // ids that come together are followed together
  reopen: 250, // a stream is not opened again sooner than this because of new ids
  retry: 500, // the first delay after a failure, doubled up to ..
  retryMost: 30_000,
  poll: 200, // the first delay between polls, times 1.5 up to ..
  pollMost: 5_000,
  lived: 5_000, // a stream that breaks sooner has not worked
  again: 10_000, // while polling, the stream is tried again after this
  stall: 45_000, // a stream that is silent for so long is dead: the server says every 15 s that it is alive
  answer: 15_000, // no answer takes longer
}

/** Between half of it and all of it, so that many pages do not come back at once. */
const jitter = (ms) => ms * (0.5 + Math.random() / 2)

/** Follows the jobs that `wanted()` names; `tell(news[])` and `link(state)` are told. */
export class Follower {
  #http
  #times
  #on
  #abort
  #wake
  #running = false
  #stopped = false
  #following = new Set()
  #opened = 0
  #last
  #new = false
  #live = false

  constructor({ http, times, ...on }) {
    this.#http = http
    this.#times = { ...TIMES, ...times }
    this.#on = on
  }

  /** There may be more to follow. */
  changed() {
    if (!this.#running) {
      if (!this.#stopped) this.#run()
      return
    }
    if ([...this.#on.wanted()].every((id) => this.#following.has(id))) return
    this.#new = true
    this.#wake?.()
    const abort = this.#abort
    const soonest = this.#opened + this.#times.reopen - Date.now()
    if (abort && this.#following.size < MOST) setTimeout(() => abort.abort('changed'), Math.max(this.#times.gather, soonest))
  }

  /** What was wrong may be good again: try at once. */
  retry() {
    this.#wake?.()
  }

  stop() {
    this.#stopped = true
    this.#abort?.abort('stopped')
    this.#wake?.()
  }

  start() {
    this.#stopped = false
    this.changed()
  }

  #wait(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    }).finally(() => (this.#wake = undefined))
  }

  async #run() {
    const times = this.#times
    this.#running = true
    await this.#wait(times.gather)
    let polling = 0 // the delay between polls; 0: no need to poll
    let streamAt = 0 // while polling: when to try the stream again
    let misses = 0 // streams in a row that did not work
    let failures = 0 // requests in a row that failed, but for streams while polling
    while (!this.#stopped) {
      const ids = [...this.#on.wanted()]
      if (ids.length === 0) break
      if (this.#new && polling) polling = times.poll
      this.#new = false
      const stream = !polling || Date.now() >= streamAt
      let wait
      try {
        if (stream) {
          this.#live = false
          await this.#stream(ids.slice(0, MOST))
          polling = misses = failures = 0
          wait = this.#opened + times.reopen - Date.now()
        } else {
          await this.#poll(ids)
          this.#on.link('polling')
          // The server is there again, and perhaps its streams.
          if (failures) streamAt = 0
          failures = 0
          wait = this.#on.wanted().size && polling
          polling = Math.min(polling * 1.5, times.pollMost)
        }
      } catch (error) {
        if (stream && this.#live && Date.now() - this.#opened >= times.lived) polling = misses = failures = 0
        misses += stream
        const pause = Math.min(error.retryAfter ?? 0, 60_000)
        if (stream && misses >= 3) {
          // The stream does not work at present: ask instead. That says nothing about how well asking works.
          // A poll was due already when the stream was tried once more.
          wait = polling ? 0 : times.poll
          if (!polling) failures = 0
          polling ||= times.poll
          streamAt = Date.now() + Math.max(jitter(times.again), pause)
        } else {
          failures += 1
          wait = jitter(Math.min(times.retry * 2 ** (failures - 1), times.retryMost))
          if (polling) this.#on.link('offline')
        }
        wait = Math.max(wait, pause)
      }
      if (wait > 0 && !this.#stopped) await this.#wait(wait)
    }
    this.#running = false
    this.#following.clear()
    this.#on.link('idle')
  }

  /** Follows a stream to its end. An error: it broke before all jobs had ended. */
  async #stream(ids) {
    const abort = (this.#abort = new AbortController())
    const open = new Set(ids)
    let silence, renewal, doubt
    const within = (ms) => {
      clearTimeout(silence)
      silence = setTimeout(() => abort.abort('silent'), ms)
    }
    this.#following = new Set(ids)
    this.#opened = Date.now()
    within(this.#times.answer)
    try {
      const headers = this.#last && { 'last-event-id': this.#last }
      const { body } = await this.#http.send('/events', { method: 'POST', body: { ids }, headers, signal: abort.signal })
      const { until = Infinity } = (await this.#http.token()) ?? {}
      // A new token before the server ends the stream with the old one.
      if (until < Infinity) renewal = setTimeout(() => abort.abort('renew'), Math.max(until - Date.now(), 1000))
      await readEvents(body, abort.signal, ({ event, data, id }) => {
        if (id) this.#last = id
        if (event === 'job' || event === 'gone') {
          const job = JSON.parse(data)
          if (event === 'gone') job.state = 'gone'
          if (isEnded(job.state)) open.delete(job.id)
          doubt?.delete(job.id)
          this.#on.tell([job])
        } else if (event === 'resync') {
          // Something may be missing: what is not told again by `ready` has to be asked for.
          doubt = new Set(open)
        } else if (event === 'ready') {
          this.#live = true
          this.#on.link('live')
          if (doubt?.size) this.#poll([...doubt]).catch(() => abort.abort('doubt'))
          doubt = undefined
        }
      }, () => within(this.#times.stall))
    } catch (error) {
      if (['changed', 'renew', 'stopped'].includes(abort.signal.reason)) return
      throw error
    } finally {
      clearTimeout(silence)
      clearTimeout(renewal)
      this.#abort = undefined
      abort.abort()
    }
    // The server was shut down, or a proxy has had enough.
    if (open.size > 0) throw new Error('the stream ended')
  }

  /** Asks for all of them; those that are not in the answer are gone. */
  async #poll(ids) {
    for (let at = 0; at < ids.length; at += CHUNK) {
      const part = ids.slice(at, at + CHUNK)
      const { jobs } = await this.#http.ask(`/jobs?ids=${part.join()}`, { signal: AbortSignal.timeout(this.#times.answer) })
      const found = new Map(jobs.map((job) => [job.id, job]))
      this.#on.tell(part.map((id) => found.get(id) ?? { id, state: 'gone' }))
    }
  }
}
