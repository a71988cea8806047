// One job as a page sees it: what is known about it, who wants to hear of it, and the rule that it never goes back.

const RANK = { waiting: 0, scheduled: 1, running: 2, stuck: 2, success: 3, failed: 3, cancelled: 3, gone: 3 }
const rank = (state) => RANK[state] ?? 0

/** Whether a job in this state never changes again. `gone`: the server does not know it (any longer). */
export const isEnded = (state) => rank(state) === 3

/** What is known after news, or the same object if the news is old. */
export function merge(old, news) {
  if (!old) return { progress: 0, ...news }
  if (isEnded(old.state) || rank(news.state ?? old.state) < rank(old.state)) return old
  const next = { ...old, ...news, public: news.public ?? old.public }
  next.progress = Math.max(old.progress, news.progress ?? 0)
  return Object.keys(next).every((key) => Object.is(next[key], old[key])) ? old : next
}

/** A tracked job. `hub` has `follow(job)`, called when the first one listens, and `leave(job)`, when the last one has left. */
export class Job {
  #hub
  #listeners = new Set()

  constructor(id, hub) {
    this.id = id
    /** What is known: fields of the API; null before the first news. */
    this.current = null
    this.#hub = hub
  }

  get ended() {
    return this.current !== null && isEnded(this.current.state)
  }

  /** Calls `listener` with what is known, now and at each change. Returns what ends that. */
  subscribe(listener) {
    const entry = { listener }
    this.#listeners.add(entry)
    this.#hub.follow(this)
    if (this.current) listener(this.current)
    return () => {
      if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#hub.leave(this)
    }
  }

  /** The job at its end: success, failed, cancelled or gone. */
  done({ signal } = {}) {
    return new Promise((resolve, reject) => {
      let stop
      const finish = (settle, value) => {
        signal?.removeEventListener('abort', abort)
        queueMicrotask(() => stop())
        settle(value)
      }
      const abort = () => finish(reject, signal.reason)
      stop = this.subscribe((job) => isEnded(job.state) && finish(resolve, job))
      if (signal?.aborted) abort()
      else signal?.addEventListener('abort', abort)
    })
  }

  /** Cancels it. Fails with the code `not-cancellable` if it has succeeded or failed. */
  async cancel() {
    const { outcome } = await this.#hub.ask(`/jobs/${this.id}/cancel`, { method: 'POST' })
    if (outcome === 'cancelled') this.tell({ state: 'cancelled' })
    else if (this.current) this.tell({ cancelling: true })
  }

  /** What its handler returned, at its end. */
  async result(options) {
    const job = await this.done(options)
    if (job.state !== 'success') throw Object.assign(new Error(job.error_message ?? `the job is ${job.state}`), { job })
    return (await this.#hub.ask(`/jobs/${this.id}`)).result
  }

  /** News of it. */
  tell(news) {
    const next = merge(this.current, { id: this.id, ...news })
    if (next === this.current) return
    this.current = next
    for (const { listener } of [...this.#listeners]) {
      try {
        listener(next)
      } catch (error) {
        // A listener's fault is not that of the others.
        queueMicrotask(() => { throw error })
      }
    }
  }
}
