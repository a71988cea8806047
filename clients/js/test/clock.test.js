// What takes minutes, or happens once in a while, against a server of the test's own and with a clock that the test moves.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { createJobs } from '../src/index.js'

/** A server that answers as the test says: `stream(text)` in the last stream, `poll(ids)` for lists of jobs. */
class FakeServer {
  requests = []
  /** Answers a list of ids. */
  poll = () => []
  /** Whether streams are refused. */
  refuses = false
  #stream

  fetch = async (url, { headers }) => {
    const stream = url.endsWith('/events')
    this.requests.push({ url, headers, stream })
    if (stream && this.refuses) return new Response('{}', { status: 503 })
    if (stream) return new Response(new ReadableStream({ start: (controller) => (this.#stream = controller) }))
    return Response.json({ jobs: this.poll(new URL(url).searchParams.get('ids').split(',')) })
  }

  say(...lines) {
    this.#stream.enqueue(new TextEncoder().encode(lines.map((line) => `${line}\n`).join('') + '\n'))
    return settle()
  }

  breakOff() {
    this.#stream.error(new Error('cut'))
    return settle()
  }
}

/** Lets everything happen that waits for nothing but its turn. */
async function settle() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Time passes. */
function pass(ms) {
  mock.timers.tick(ms)
  return settle()
}

const job = (id, state, progress = 0) => `data: ${JSON.stringify({ id, state, progress })}`

let server, jobs, document
beforeEach(() => {
  const page = new EventEmitter()
  document = {
    visibilityState: 'visible',
    addEventListener: (name, listener) => page.on(name, listener),
    show(state) {
      this.visibilityState = state
      page.emit('visibilitychange')
    },
  }
  Object.assign(globalThis, { document, addEventListener: () => {} })
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  server = new FakeServer()
  jobs = createJobs({ url: 'http://fake/api/v1', fetch: server.fetch, share: false })
})
afterEach(() => {
  jobs.close()
  mock.timers.reset()
  delete globalThis.document
  delete globalThis.addEventListener
})

/** The states of a job, for as long as it is followed. */
function states(id) {
  const seen = []
  jobs.track(id).subscribe(({ state }) => seen.push(state))
  return seen
}

test('a page stops 60 seconds after it was hidden, not before, and catches up when it is seen', async () => {
  const seen = states('a')
  await pass(20)
  await server.say('event: job', job('a', 'running'), '', 'event: ready', 'data: {}')
  assert.equal(jobs.connection, 'live')

  document.show('hidden')
  // As the server does, so that the stream is not taken for dead.
  for (let quarter = 0; quarter < 3; quarter += 1) {
    await pass(15_000)
    await server.say(': alive')
  }
  await pass(14_999)
  assert.deepEqual([jobs.connection, server.requests.length], ['live', 1], 'a look at another page does no harm')
  await pass(1)
  assert.equal(jobs.connection, 'idle')
  for (let minute = 0; minute < 10; minute += 1) await pass(60_000)
  assert.equal(server.requests.length, 1, 'nobody asks while nobody looks')

  document.show('visible')
  await pass(20)
  assert.equal(server.requests.length, 2)
  await server.say('event: job', job('a', 'success', 100))
  assert.deepEqual(seen, ['running', 'success'])
})

test('a stream goes on after the last event, and after a gap the rest is asked for', async () => {
  const seen = { a: states('a'), b: states('b') }
  await pass(20)
  assert.equal(server.requests[0].headers['last-event-id'], undefined)
  await server.say('id: 41', 'event: job', job('a', 'running'), '', 'id: 42', 'event: job', job('b', 'running'), '', 'event: ready', 'data: {}')
  await server.breakOff()
  await pass(500)
  assert.deepEqual(server.requests.map(({ headers }) => headers['last-event-id']), [undefined, '42'])
  server.poll = (ids) => ids.map((id) => ({ id, state: 'failed', progress: 0 }))
  await server.say('event: resync', 'data: {}', '', 'event: job', job('b', 'success', 100), '', 'event: ready', 'data: {}')
  assert.deepEqual(server.requests.slice(2).map(({ url }) => url), ['http://fake/api/v1/jobs?ids=a'], 'only what was not told again')
  assert.deepEqual(seen, { a: ['running', 'failed'], b: ['running', 'success'] })
})

test('a silent stream is taken for dead and opened again', async () => {
  states('a')
  await pass(20)
  await server.say('event: job', job('a', 'running'), '', 'event: ready', 'data: {}')
  await pass(44_999)
  assert.equal(server.requests.length, 1)
  await pass(1)
  await pass(500)
  assert.equal(server.requests.length, 2)
})

test('polling slows down to 5 seconds, ends with the last unfinished job, and begins again with the next', async () => {
  server.refuses = true
  let state = 'running'
  server.poll = (ids) => ids.map((id) => ({ id, state, progress: 10 }))
  const seen = states('a')
  // Three failures, and then polls.
  for (let tick = 0; tick < 100; tick += 1) await pass(50)
  assert.equal(jobs.connection, 'polling')
  assert.equal(server.requests.filter(({ stream }) => stream).length, 3)
  const polls = () => server.requests.filter(({ stream }) => !stream).length
  for (let second = 0; second < 60; second += 1) await pass(1000)
  const before = polls()
  for (let second = 0; second < 60; second += 1) await pass(1000)
  assert.ok(polls() - before >= 8 && polls() - before <= 13, `${polls() - before} polls in a minute`)

  state = 'success'
  for (let second = 0; second < 6; second += 1) await pass(1000)
  assert.deepEqual([seen, jobs.connection], [['running', 'success'], 'idle'])
  const ended = server.requests.length
  for (let minute = 0; minute < 10; minute += 1) await pass(60_000)
  assert.equal(server.requests.length, ended, 'nothing is asked for when nothing is unfinished')

  server.refuses = false
  const next = states('b')
  await pass(20)
  await server.say('event: job', job('b', 'success', 100))
  assert.deepEqual([next, server.requests.length], [['success'], ended + 1])
})
