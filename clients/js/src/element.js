// <job-progress job="ID" cancel>: for every page, whatever it is made with.

import { view, WORDS } from './words.js'

const STYLE = `
:host { display: flex; gap: .5em; align-items: center; font: inherit; color: var(--job-progress-text, inherit); }
:host([hidden]) { display: none; }
[part=bar] { flex: 1; height: var(--job-progress-height, .5em); border-radius: var(--job-progress-radius, .25em);
  background: var(--job-progress-track, #d9dee5); overflow: hidden; }
[part=done] { height: 100%; width: 0; background: var(--job-progress-color, #2563eb); transition: width .2s; }
:host([state=failed]) [part=done], :host([state=stuck]) [part=done] { background: var(--job-progress-failed, #b91c1c); }
:host([state=success]) [part=done] { background: var(--job-progress-success, #15803d); }
[part=cancel] { font: inherit; }
@media (prefers-reduced-motion: reduce) { [part=done] { transition: none; } }`

const BODY = `<style>${STYLE}</style><div part="bar" role="progressbar" aria-valuemin="0" aria-valuemax="100"><div part="done"></div></div>
<span part="text" role="status"></span><button part="cancel" type="button" hidden></button>`

/** Makes `<job-progress>` known. `jobs`: what `createJobs` has given. Fires `job-change`, `job-done` and `job-error`. */
export function defineJobProgress(jobs, { name = 'job-progress', words } = {}) {
  const all = { ...WORDS, ...words }

  class JobProgress extends HTMLElement {
    static observedAttributes = ['job', 'cancel', 'label']
    #stop
    #job

    constructor() {
      super()
      const root = this.attachShadow({ mode: 'open' })
      root.innerHTML = BODY
      root.querySelector('button').onclick = () => this.cancel()
    }

    connectedCallback() {
      this.#follow()
    }

    disconnectedCallback() {
      this.#stop?.()
      this.#stop = undefined
    }

    attributeChangedCallback(attribute) {
      if (!this.isConnected) return
      if (attribute === 'job') this.#follow()
      else this.#show()
    }

    /** The job, with `current`, `done()` and so on; null without an id. */
    get job() {
      return this.#job ?? null
    }

    async cancel() {
      try {
        await this.#job?.cancel()
      } catch (error) {
        this.#fire('error', error)
      }
    }

    #follow() {
      this.#stop?.()
      const id = this.getAttribute('job')
      this.#job = id ? jobs.track(id) : undefined
      let over = false
      this.#stop = this.#job?.subscribe((job) => {
        this.#show()
        this.#fire('change', job)
        if (!over && view(job).ended) {
          over = true
          this.#fire('done', job)
        }
      })
      this.#show()
    }

    #fire(what, detail) {
      this.dispatchEvent(new CustomEvent(`job-${what}`, { detail, bubbles: true }))
    }

    #show() {
      const shown = view(this.#job?.current ?? null, all)
      const part = (name) => this.shadowRoot.querySelector(`[part=${name}]`)
      this.setAttribute('state', shown.state ?? 'unknown')
      part('done').style.width = `${shown.percent}%`
      const bar = part('bar')
      bar.setAttribute('aria-label', this.getAttribute('label') ?? all.progress)
      bar.setAttribute('aria-valuenow', shown.percent)
      bar.setAttribute('aria-valuetext', shown.text)
      if (part('text').textContent !== shown.text) part('text').textContent = shown.text
      const button = part('cancel')
      button.hidden = !(this.hasAttribute('cancel') && shown.cancellable)
      button.textContent = all.cancel
    }
  }

  if (!customElements.get(name)) customElements.define(name, JobProgress)
}
