// The bindings without a browser: what a server renders, and the mixin. What pages show is tested in browser.test.js.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createElement } from 'react'
import { renderToString as renderReact } from 'react-dom/server'
import { createRenderer, createSSRApp, h } from 'vue'
import { renderToString as renderVue } from 'vue/server-renderer'
import { createJobs } from '../src/index.js'
import { merge } from '../src/job.js'
import { JobProgress as ReactProgress, JobsProvider } from '../src/react.js'
import { JobProgress as VueProgress, jobMixin, turnabout } from '../src/vue.js'
import { view } from '../src/words.js'

const RUNNING = { id: 'a', state: 'running', progress: 40, step: 'table 3' }

/** A client that must not ask for anything. */
const silent = () =>
  createJobs({
    fetch: () => assert.fail('nothing is asked for'),
    token: () => assert.fail('no token is needed'),
  })

test('a server renders what it knows of a job, and asks for nothing', async () => {
  const vue = createSSRApp({ render: () => h(VueProgress, { id: 'a', initial: RUNNING }) }).use(turnabout, { jobs: silent() })
  const react = createElement(JobsProvider, { jobs: silent() }, createElement(ReactProgress, { id: 'a', initial: RUNNING }))
  for (const html of [await renderVue(vue), renderReact(react)]) {
    assert.match(html, /role="progressbar"/)
    assert.match(html, /aria-valuenow="40"/)
    assert.match(html, /table 3/)
  }
})

test('a job never goes back', () => {
  const steps = [
    [{ state: 'waiting' }, 'waiting', 0],
    [{ state: 'running', progress: 30 }, 'running', 30],
    [{ state: 'scheduled', progress: 0 }, 'running', 30],
    [{ state: 'running', progress: 20 }, 'running', 30],
    [{ state: 'stuck', progress: 0 }, 'stuck', 30],
    [{ state: 'scheduled' }, 'stuck', 30],
    [{ state: 'running', progress: 50 }, 'running', 50],
    [{ state: 'failed', progress: 0 }, 'failed', 50],
    [{ state: 'success', progress: 100 }, 'failed', 50],
    [{ state: 'gone' }, 'failed', 50],
  ]
  let job = null
  for (const [news, state, progress] of steps) {
    job = merge(job, news)
    assert.deepEqual([job.state, job.progress], [state, progress], JSON.stringify(news))
  }
  const known = merge(null, { state: 'running', public: { file: 'a' } })
  assert.deepEqual(merge(known, { state: 'success', public: null }).public, { file: 'a' })
  assert.equal(merge(known, { state: 'running', public: known.public }), known, 'nothing new is no news')
})

test('people read words', () => {
  assert.equal(view(null).text, 'Loading …')
  assert.equal(view({ state: 'running', progress: 1, step: 'page 1' }).text, 'page 1')
  assert.equal(view({ state: 'running', progress: 1, cancelling: true }).text, 'Being cancelled …')
  assert.equal(view({ state: 'failed', error_message: 'No pages.' }).text, 'No pages.')
  assert.equal(view({ state: 'success' }, { success: 'Fertig' }).text, 'Fertig')
})

/** Renders into nothing, so that components live without a document. */
const { createApp } = createRenderer({
  insert() {}, remove() {}, patchProp() {}, setText() {}, setElementText() {}, setScopeId() {},
  createElement: () => ({}), createText: () => ({}), createComment: () => ({}), parentNode: () => null, nextSibling: () => null,
})

test('the mixin has the names of before, and calls back once', async () => {
  const jobs = silent()
  const calls = []
  const component = {
    mixins: [jobMixin],
    render: () => null,
    methods: {
      onJobFinished: () => calls.push('finished'),
      onJobFailed: () => calls.push('failed'),
      onJobCancelled: () => calls.push('cancelled'),
      onJobCancelFailed: ({ code }) => calls.push(`not cancelled: ${code}`),
      showError: ({ error, message }) => calls.push(`${error}: ${message}`),
      getCustomHumanReadableJobState: (state) => (state === 'waiting' ? 'Patience' : undefined),
    },
  }
  const app = createApp(component).use(turnabout, { jobs })
  const mixed = app.mount({})
  assert.deepEqual([mixed.job, mixed.jobIsRunning, mixed.jobIsEnded], [null, false, false])
  // Nobody follows here: the jobs are told by hand.
  const track = (id, state) => {
    const job = jobs.track(id)
    job.subscribe = (listener) => {
      job.listener = listener
      return () => (job.listener = undefined)
    }
    mixed.createAndMonitorJob({ id })
    job.listener({ id, state, progress: 40 })
    return job
  }
  const first = track('a', 'waiting')
  assert.deepEqual([mixed.jobIsRunning, mixed.jobHumanReadableState, mixed.job.progress_percentage], [true, 'Patience', 40])
  first.listener({ id: 'a', state: 'success', progress: 100 })
  first.listener({ id: 'a', state: 'success', progress: 100 })
  assert.deepEqual([mixed.jobIsFinished, mixed.jobIsEnded, mixed.jobHasFailed], [true, true, false])
  track('b', 'running').listener({ id: 'b', state: 'failed', progress: 40, error_code: 'no-pages', error_message: 'No pages.' })
  assert.deepEqual([mixed.jobHasFailed, mixed.job.human_readable_error], [true, 'No pages.'])
  track('c', 'running').listener({ id: 'c', state: 'cancelled', progress: 40 })
  assert.deepEqual([mixed.jobIsFinished, mixed.jobHasFailed], [false, true])
  assert.deepEqual(calls.splice(0), ['finished', 'no-pages: No pages.', 'failed', 'cancelled'])
  const last = track('d', 'running')
  last.cancel = async () => last.listener({ id: 'd', state: 'running', progress: 40, cancelling: true })
  await mixed.cancelJob()
  assert.deepEqual([mixed.jobHumanReadableState, mixed.cancelLoading, calls], ['Being cancelled …', false, []])
  last.cancel = () => Promise.reject(Object.assign(new Error('The job has ended.'), { code: 'not-cancellable' }))
  await mixed.cancelJob()
  assert.deepEqual(calls, ['not-cancellable: The job has ended.', 'not cancelled: not-cancellable'])
  app.unmount()
  assert.equal(last.listener, undefined, 'nobody listens any longer')
})
