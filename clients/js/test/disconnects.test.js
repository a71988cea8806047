// Many random disconnects: no final state is missed, and no job goes back. TURNABOUT_DISCONNECTS=10000 for the long run.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createJobs } from '../src/index.js'
import { Proxy, random } from './proxy.js'
import { Server } from './server.js'

const WANTED = Number(process.env.TURNABOUT_DISCONNECTS ?? 400)
const SEED = Number(process.env.TURNABOUT_SEED ?? Date.now() % 1_000_000)
const JOBS = 15
const CLIENTS = 6
const RANK = { waiting: 0, scheduled: 1, running: 2, stuck: 2, success: 3, failed: 3, cancelled: 3, gone: 3 }

/** Requests a second: on average, and in the busiest second. */
function rates(requests) {
  let peak = 0
  let first = 0
  for (const [last, { at }] of requests.entries()) {
    while (at - requests[first].at >= 1000) first += 1
    peak = Math.max(peak, last - first + 1)
  }
  return { average: requests.length / ((requests.at(-1).at - requests[0].at) / 1000), peak }
}

let server
before(async () => (server = await Server.start()))
after(() => server.stop())

test(`no final state is missed in ${WANTED} disconnects (seed ${SEED})`, { timeout: WANTED * 200 + 60_000 }, async (t) => {
  const next = random(SEED)
  const proxy = await Proxy.before(server.port)
  proxy.fault = ({ stream }) => {
    const dice = next()
    if (stream) {
      if (dice < 0.1) return { answer: [401, 429, 503][Math.floor(next() * 3)] }
      if (dice < 0.2) return { cut: true }
      return { cutAfter: next() * 60, delay: dice < 0.4 ? next() * 20 : 0, twice: dice > 0.7 }
    }
    if (dice < 0.15) return { answer: [401, 429, 503][Math.floor(next() * 3)] }
    if (dice < 0.4) return { cut: true }
    return { delay: dice < 0.6 ? next() * 20 : 0 }
  }
  // Everything goes faster than in a page, so that there are many disconnects a second.
  const times = { gather: 1, reopen: 5, retry: 10, retryMost: 60, poll: 10, pollMost: 60, lived: 30, again: 40 }
  let ended = 0
  /** One page: submits jobs, follows them to their end, and compares with what the server says. */
  const visit = async () => {
    const jobs = createJobs({ url: proxy.url, token: server.tokens(), times })
    const ids = await server.submit(
      Array.from({ length: JOBS }, (_, n) =>
        n === 7 ? { task: 'broken' } : { task: 'sleep', args: { seconds: next() * 0.8, steps: 10 } },
      ),
    )
    const ends = await Promise.all(
      ids.map(async (id, n) => {
        const job = jobs.track(id)
        let last = null
        job.subscribe((now) => {
          assert.ok(!last || (RANK[now.state] >= RANK[last.state] && now.progress >= last.progress), `seed ${SEED}: ${last?.state} became ${now.state}`)
          last = now
        })
        if (n % 9 === 5) await job.cancel().catch(() => {})
        return job.done({ signal: AbortSignal.timeout(60_000) })
      }),
    )
    const { jobs: truth } = await server.ask(`/jobs?ids=${ids.join()}`)
    assert.deepEqual(ends.map(({ state }) => state), truth.map(({ state }) => state), `seed ${SEED}`)
    ended += ids.length
    jobs.close()
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (proxy.cuts < WANTED) await visit()
    }),
  )
  const { average, peak } = rates(proxy.requests)
  t.diagnostic(
    `seed ${SEED}: ${ended} jobs ended as the server says, ${proxy.cuts} connections were cut; ${proxy.requests.length} requests, ` +
      `${(average / CLIENTS).toFixed(1)} a second and page, ${(peak / CLIENTS).toFixed(1)} in the busiest second`,
  )
  // With delays that are 20 to 50 times as short as in a page; client.test.js counts with those of a page.
  assert.ok(peak / CLIENTS < 60, `${peak / CLIENTS} requests a second and page`)
  await proxy.close()
})
