// The client against the real server, through a proxy that counts and disturbs.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJobs } from '../src/index.js'
import { Proxy } from './proxy.js'
import { Server } from './server.js'

let server
const open = []

before(async () => (server = await Server.start()))
after(() => server.stop())
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** A client behind a proxy of its own. */
async function connect(options = {}) {
  const proxy = await Proxy.before(options.port ?? server.port)
  const token = options.token ?? server.tokens()
  const jobs = createJobs({ url: proxy.url, ...options, token })
  open.push(() => jobs.close(), () => proxy.close())
  return { proxy, jobs, token }
}

/** Everything that a job was, for as long as it is followed. */
function record(job) {
  const seen = []
  job.subscribe((now) => seen.push(now))
  return seen
}

const RANK = { waiting: 0, scheduled: 1, running: 2, stuck: 2, success: 3, failed: 3, cancelled: 3, gone: 3 }
function assertMonotone(seen) {
  for (let at = 1; at < seen.length; at += 1) {
    const [was, is] = [seen[at - 1], seen[at]]
    assert.ok(RANK[is.state] >= RANK[was.state], `${was.state} became ${is.state}`)
    assert.ok(is.progress >= was.progress, `${was.progress} % became ${is.progress} %`)
  }
}

/** Waits for something that is to become true, by looking at each change. */
const until = (jobs, wanted) =>
  new Promise((resolve) => {
    const stop = jobs.onConnection((now) => {
      if (now !== wanted) return
      resolve()
      queueMicrotask(() => stop())
    })
  })

test('a job is followed to its end, with its public fields and its result', async () => {
  const { jobs, proxy } = await connect()
  const [id] = await server.submit([{ task: 'import', args: { pause: '0.05', file: 'a.pdf', secret: 's' } }])
  const job = jobs.track(id)
  const seen = record(job)
  const end = await job.done()
  assert.equal(end.state, 'success')
  assert.equal(end.progress, 100)
  assert.deepEqual(end.public, { file: 'a.pdf' })
  assert.ok(!JSON.stringify(seen).includes('secret'), 'arguments are not for browsers')
  assert.ok(seen.some(({ progress }) => progress > 0 && progress < 100), 'progress moves')
  assert.ok(seen.some(({ step }) => step?.startsWith('table')), 'and says what is done')
  assertMonotone(seen)
  assert.deepEqual(await job.result(), { tables: 10 })
  assert.equal(proxy.requests.filter(({ stream }) => stream).length, 1)
})

test('a failure is told in words for people', async () => {
  const { jobs } = await connect()
  const [id] = await server.submit([{ task: 'broken' }])
  const end = await jobs.track(id).done()
  assert.deepEqual([end.state, end.error_code, end.error_message], ['failed', 'no-pages', 'The file has no pages.'])
  assert.equal(end.error, null, 'what the server says to itself is not for browsers')
  await assert.rejects(jobs.track(id).result(), /The file has no pages/)
  await assert.rejects(server.ask(`/jobs/${id}/result`), (error) => error.answer.status === 422 && error.answer.error_code === 'no-pages')
})

test('a job is cancelled, and one that has ended is not', async () => {
  const { jobs } = await connect()
  const [long, short] = await server.submit([
    { task: 'sleep', args: { seconds: 1000 } },
    { task: 'sleep', args: { seconds: 0 } },
  ])
  await jobs.track(long).cancel()
  assert.equal((await jobs.track(long).done()).state, 'cancelled')
  await jobs.track(long).cancel()
  await jobs.track(short).done()
  await assert.rejects(jobs.track(short).cancel(), { status: 409, code: 'not-cancellable' })
})

test('what has not ended is found again after a reload', async () => {
  const { jobs } = await connect()
  const owner = 'reloader'
  const [id] = await server.submit([{ task: 'sleep', args: { seconds: 1000 } }], owner)
  const again = createJobs({ url: server.url, token: server.tokens('1 minute', { group: 'acme', owner, cancel: true }) })
  open.push(() => again.close())
  const found = await again.unfinished({ task: 'sleep' })
  assert.deepEqual(found.map((job) => job.id), [id])
  assert.equal(found[0], again.track(id), 'the same object')
  await found[0].cancel()
  await found[0].done()
  assert.deepEqual(await again.unfinished({ task: 'sleep' }), [])
  assert.deepEqual((await jobs.unfinished({ task: 'nothing' })), [])
})

test('jobs are submitted where the token allows it, or by a function of the page', async () => {
  const { jobs } = await connect({ token: async () => 'acme' })
  const job = await jobs.submit('sleep', { seconds: 0 }, { owner: 'ada' })
  assert.equal((await job.done()).state, 'success')
  const browser = await connect()
  await assert.rejects(browser.jobs.submit('sleep'), { status: 403 })
  const backend = await connect({ submit: async (task, args) => (await server.submit([{ task, args }]))[0] })
  assert.equal((await (await backend.jobs.submit('sleep', { seconds: 0 })).done()).state, 'success')
})

test('ids that the server does not know, or not for this caller, end as gone', async () => {
  const { jobs } = await connect()
  const [foreign] = await server.submit([{ task: 'sleep', args: { seconds: 1 } }], 'bob')
  const unknown = '01a1e212-79a3-7000-a3d7-c4437b9fc681'
  const ends = await Promise.all([foreign, unknown].map((id) => jobs.track(id).done()))
  assert.deepEqual(ends.map(({ state }) => state), ['gone', 'gone'])
  assert.equal(ends[0].task, undefined, 'nothing is told of it')
})

test('whoever does not want to wait any longer need not', async () => {
  const { jobs } = await connect()
  const [id] = await server.submit([{ task: 'sleep', args: { seconds: 1000 } }])
  const stop = new AbortController()
  const done = jobs.track(id).done({ signal: stop.signal })
  stop.abort(new Error('enough'))
  await assert.rejects(done, /enough/)
  await jobs.track(id).cancel()
})

test('a thousand jobs use one stream and few requests', async () => {
  const { jobs, proxy } = await connect()
  const ids = await server.submit(Array.from({ length: 1000 }, () => ({ task: 'sleep', args: { seconds: 0.01, steps: 1 } })))
  const ends = await Promise.all(ids.map((id) => jobs.track(id).done()))
  assert.ok(ends.every(({ state }) => state === 'success'))
  assert.equal(proxy.mostStreams, 1)
  assert.equal(proxy.requests.length, 1, JSON.stringify(proxy.requests.map(({ url }) => url)))
})

test('jobs that come later join the stream', async () => {
  const { jobs, proxy } = await connect()
  const ends = []
  for (let round = 0; round < 20; round += 1) {
    const [id] = await server.submit([{ task: 'sleep', args: { seconds: 0.3, steps: 2 } }])
    ends.push(jobs.track(id).done())
    await sleep(10)
  }
  for (const end of await Promise.all(ends)) assert.equal(end.state, 'success')
  assert.equal(proxy.mostStreams <= 2, true, 'an old one may be closing')
  assert.ok(proxy.requests.length <= 20, `${proxy.requests.length} requests`)
})

test('a token is replaced before it ends, and when it is refused', async () => {
  const token = server.tokens('4 seconds')
  const { jobs, proxy } = await connect({ token })
  const [id] = await server.submit([{ task: 'sleep', args: { seconds: 9, steps: 90 } }])
  const job = jobs.track(id)
  const seen = record(job)
  let refused = 0
  proxy.fault = () => (proxy.requests.length === 2 && refused++ === 0 ? { answer: 401 } : undefined)
  assert.equal((await job.done()).state, 'success')
  assert.equal(refused, 1)
  assert.ok(token.count >= 3 && token.count <= 6, `${token.count} tokens`)
  assert.ok(proxy.requests.length <= 8, `${proxy.requests.length} requests`)
  assertMonotone(seen)
  for (const { url } of proxy.requests) assert.ok(!url.includes('turnabout_browser_'), 'no token in an address')
  const log = server.log.join('')
  for (const secret of token.all) assert.ok(!log.includes(secret) && !log.includes(secret.split('.')[2]), 'nor in a log')
})

test('without a stream jobs are asked for, all at once, and the stream is used again when it works', async () => {
  const { jobs, proxy } = await connect({ times: { again: 1500, retry: 50 } })
  let blocked = true
  proxy.fault = ({ stream }) => (stream && blocked ? { answer: 503 } : undefined)
  const ids = await server.submit(Array.from({ length: 50 }, (_, n) => ({ task: 'sleep', args: { seconds: n < 49 ? 0.5 : 6, steps: 20 } })))
  const first = ids.slice(0, 49).map((id) => jobs.track(id).done())
  const last = jobs.track(ids[49])
  const seen = record(last)
  await until(jobs, 'polling')
  for (const end of await Promise.all(first)) assert.equal(end.state, 'success')
  assert.equal(proxy.requests.filter(({ stream }) => stream).length >= 3, true)
  const polls = proxy.requests.filter(({ url }) => url.startsWith('/api/v1/jobs?ids='))
  assert.ok(polls[0].url.split(',').length === 50, 'all ids in one request')
  blocked = false
  await until(jobs, 'live')
  const before = proxy.requests.length
  assert.equal((await last.done()).state, 'success')
  assert.ok(proxy.requests.length - before <= 1, 'nothing is asked for once it is live')
  assertMonotone(seen)
})

test('nobody is asked often, whatever is wrong', async () => {
  const faults = [{ answer: 503 }, { answer: 401 }, { answer: [429, { 'retry-after': '2' }] }, { cut: true }]
  await Promise.all(
    faults.map(async (fault) => {
      const { jobs, proxy } = await connect()
      const [id] = await server.submit([{ task: 'sleep', args: { seconds: 0 } }])
      proxy.fault = () => fault
      const job = jobs.track(id)
      job.subscribe(() => {})
      await until(jobs, 'offline')
      await sleep(4000)
      // A refused token is replaced at once, and tried once more.
      const most = fault.answer === 401 ? 18 : 10
      assert.ok(proxy.requests.length <= most, `${proxy.requests.length} requests in 4 s: ${JSON.stringify(fault)}`)
      proxy.fault = () => undefined
      assert.equal((await job.done()).state, 'success')
    }),
  )
})

test('a stream that is always cut is not opened again and again', async () => {
  const { jobs, proxy } = await connect()
  const [id] = await server.submit([{ task: 'sleep', args: { seconds: 6, steps: 600 } }])
  proxy.fault = ({ stream }) => (stream ? { cutAfter: 20 } : undefined)
  const job = jobs.track(id)
  const seen = record(job)
  assert.equal((await job.done()).state, 'success')
  assert.ok(proxy.requests.length <= 25, `${proxy.requests.length} requests in 6 s`)
  assertMonotone(seen)
})

test('a server that is started again is found again', async () => {
  const other = await Server.start()
  open.push(() => other.stop())
  const { jobs } = await connect({ port: other.port, token: other.tokens() })
  const [id] = await other.submit([{ task: 'sleep', args: { seconds: 3, steps: 30 } }])
  const job = jobs.track(id)
  const seen = record(job)
  await until(jobs, 'live')
  await other.end('SIGKILL')
  await other.run()
  assert.equal((await job.done()).state, 'success')
  assertMonotone(seen)
})
