// One stream for all tabs of a page: the tab that holds the lock follows for all, and tells the others what it hears.

import { isEnded } from './job.js'

/** `wants()`: the ids of this tab; `lead(boolean)`: whether this tab follows for all; `hear(message)`: from the one that does. */
export class Tabs {
  #channel
  #others = new Map()
  #latest = new Map()
  #me = Math.random().toString(36).slice(2)
  #release
  #leading = false
  #on

  constructor(name, on) {
    this.#on = on
    this.name = name
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = ({ data }) => {
      if (data.want && this.#leading) {
        // What is known is told at once: no event may come for long.
        const news = data.want.map((id) => this.#latest.get(id)).filter(Boolean)
        this.#others.set(data.from, new Set(data.want))
        this.tell({ news, link: on.link() })
        on.changed()
      }
      if (data.who) this.say()
      if (data.hear && !this.#leading) on.hear(data.hear)
    }
  }

  /** Can tabs speak to each other here? */
  static get possible() {
    return typeof BroadcastChannel === 'function' && typeof navigator === 'object' && !!navigator.locks
  }

  /** What the other tabs want. */
  *others() {
    for (const ids of this.#others.values()) yield* ids
  }

  /** Tells the leader what this tab wants. */
  say() {
    if (!this.#leading) this.#channel.postMessage({ want: [...this.#on.wants()], from: this.#me })
  }

  /** Tells the other tabs, if this one leads. */
  tell(hear) {
    if (!this.#leading) return
    if (this.#latest.size > 5000) this.#latest.clear()
    for (const news of hear.news ?? []) {
      this.#latest.set(news.id, news)
      // Whoever wants it still asks again.
      if (isEnded(news.state)) for (const ids of this.#others.values()) ids.delete(news.id)
    }
    this.#channel.postMessage({ hear })
  }

  /** Stands in line to lead, until it leaves. */
  join() {
    if (this.#release) return
    const leave = new AbortController()
    this.#release = () => leave.abort()
    const lead = async () => {
      if (leave.signal.aborted) return
      this.#leading = true
      this.#others.clear()
      this.#latest.clear()
      this.#on.lead(true)
      this.#channel.postMessage({ who: true })
      await new Promise((resolve) => leave.signal.addEventListener('abort', resolve))
      this.#leading = false
      this.#on.lead(false)
    }
    navigator.locks.request(this.name, { signal: leave.signal }, lead).catch(() => {})
    this.say()
  }

  /** Leaves the line; what it wanted is not wanted any longer. */
  leave() {
    this.#release?.()
    this.#release = undefined
    this.#channel.postMessage({ want: [], from: this.#me })
  }

  close() {
    this.leave()
    this.#channel.close()
  }
}
