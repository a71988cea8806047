// turnabout-client: follows jobs of a Turnabout server, in browsers and in Node.

import { Follower } from './follow.js'
import { Http, JobsError } from './http.js'
import { Job, isEnded } from './job.js'
import { Tabs } from './tabs.js'

export { JobsError, isEnded }

/** A hidden page stops after this. */
const HIDDEN = 60_000

class Jobs {
  #jobs = new Map()
  #wanted = new Set()
  #http
  #follower
  #submit
  #share
  #tabs
  #leading = true
  #connection = 'idle'
  #watchers = new Set()
  #paused = false
  #hidden
  #stop = new AbortController()

  constructor({ url = '/api/v1', token, share = true, submit, fetch, times, hidden = HIDDEN }) {
    this.#http = new Http({ url, token, fetch })
    this.#submit = submit
    this.#share = share
    this.#follower = new Follower({
      http: this.#http,
      times,
      wanted: () => new Set([...this.#wanted, ...(this.#tabs?.others() ?? [])]),
      tell: (news) => this.#hear({ news }),
      link: (link) => this.#hear({ link }),
    })
    const { signal } = this.#stop
    if (typeof document === 'object') {
      const look = () => {
        clearTimeout(this.#hidden)
        if (document.visibilityState === 'hidden') this.#hidden = setTimeout(() => this.#pause(true), hidden)
        else this.#pause(false)
      }
      document.addEventListener('visibilitychange', look, { signal })
      addEventListener('pagehide', () => this.#tabs?.leave(), { signal })
      addEventListener('pageshow', (event) => event.persisted && this.#tabs?.join(), { signal })
      addEventListener('online', () => this.#follower.retry(), { signal })
    }
  }

  /** `idle` (nothing to follow), `live`, `polling` or `offline`. */
  get connection() {
    return this.#connection
  }

  /** Calls `listener` with the connection, now and at each change. */
  onConnection(listener) {
    this.#watchers.add(listener)
    listener(this.#connection)
    return () => this.#watchers.delete(listener)
  }

  /** A job to be followed once someone listens. `known`: what a page was rendered with. */
  track(id, known) {
    let job = this.#jobs.get(id)
    if (!job) this.#jobs.set(id, (job = new Job(id, this.#hub)))
    if (known) job.tell(known)
    return job
  }

  /** Submits a job, and tracks it. */
  async submit(task, args = {}, options = {}) {
    const send = this.#submit ?? ((task, args, options) => this.#http.ask('/jobs', { method: 'POST', body: { ...options, task, args } }))
    const answer = await send(task, args, options)
    return this.track(typeof answer === 'string' ? answer : answer.id)
  }

  /** The jobs that have not ended, newest first: what to show again after a reload. */
  async unfinished({ task, group, owner, limit } = {}) {
    const asked = Object.entries({ task, group, owner, limit }).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams([['states', '!success,!failed,!cancelled'], ...asked])
    const { jobs } = await this.#http.ask(`/jobs?${query}`)
    return jobs.map((job) => this.track(job.id, job))
  }

  /** Ends everything. */
  close() {
    this.#stop.abort()
    clearTimeout(this.#hidden)
    this.#wanted.clear()
    this.#follower.stop()
    this.#tabs?.close()
    this.#tabs = undefined
  }

  #hub = {
    follow: (job) => {
      this.#jobs.set(job.id, job)
      if (job.ended || this.#wanted.has(job.id) || this.#stop.signal.aborted) return
      this.#wanted.add(job.id)
      this.#changed()
    },
    leave: (job) => {
      this.#wanted.delete(job.id)
      if (job.ended) this.#jobs.delete(job.id)
      this.#tabs?.say()
    },
    ask: (...request) => this.#http.ask(...request),
  }

  async #changed() {
    if (this.#share && !this.#tabs && Tabs.possible) {
      // Whose jobs they are says the token: tabs of different people have nothing to tell each other.
      const { said = {} } = (await this.#http.token().catch(() => undefined)) ?? {}
      const whose = typeof this.#share === 'string' ? this.#share : !said.jobs && said.group && `${said.group}/${said.owner ?? ''}`
      if (whose && !this.#tabs && !this.#stop.signal.aborted) this.#meet(`turnabout ${this.#http.url} ${whose}`)
    }
    if (this.#paused) return
    if (this.#leading) this.#follower.changed()
    else this.#tabs?.say()
  }

  #meet(name) {
    this.#leading = false
    this.#tabs = new Tabs(name, {
      wants: () => (this.#paused ? [] : this.#wanted),
      changed: () => this.#follower.changed(),
      link: () => this.#connection,
      hear: (message) => this.#hear(message),
      lead: (leading) => {
        this.#leading = leading
        if (leading && !this.#paused) this.#follower.start()
        else this.#follower.stop()
      },
    })
    this.#tabs.join()
  }

  /** A page that nobody looks at makes no requests; another tab may lead. */
  #pause(paused) {
    if (paused === this.#paused) return
    this.#paused = paused
    if (this.#tabs) {
      if (paused) this.#tabs.leave()
      else this.#tabs.join()
    } else if (paused) this.#follower.stop()
    else this.#follower.start()
  }

  #hear(message) {
    for (const news of message.news ?? []) {
      const job = this.#jobs.get(news.id)
      job?.tell(news)
      if (!job || job.ended) this.#wanted.delete(news.id)
    }
    if (message.link && message.link !== this.#connection) {
      this.#connection = message.link
      for (const listener of [...this.#watchers]) listener(message.link)
    }
    this.#tabs?.tell(message)
  }
}

/** Follows jobs of the server whose API is at `url`; `token()` gives a token, whenever a new one is needed. */
export const createJobs = (options = {}) => new Jobs(options)
