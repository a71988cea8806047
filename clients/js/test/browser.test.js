// The three example pages in a real browser, against the real server.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openBrowser } from './browser.js'
import { Proxy } from './proxy.js'
import { freePort, hash, Server } from './server.js'

const example = fileURLToPath(new URL('../../../examples/web/', import.meta.url))
const PAGES = ['vue', 'react', 'plain']

/** So many jobs run at a time: `pool-size` in the example's configuration. */
const SLOTS = 2

let server, proxy, web, origin, browser, closeBrowser
/** Everything that pages have asked for. */
const addresses = []

before(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  // As in the example, but faster, and on ports of our own.
  const text = readFileSync(join(example, 'turnabout.toml'), 'utf8')
    .replace('http://127.0.0.1:3000', origin)
    .replace('[tasks.document]', '[tasks.document]\nenvironment = { PAUSE = "0.1" }')
  server = await Server.start({ text: `${text}\n[tokens.chief]\nhash = "${hash('chief')}"\nrole = "admin"\n` })
  copyFileSync(join(example, 'document.sh'), join(server.folder, 'document.sh'))
  proxy = await Proxy.before(server.port)
  web = spawn(process.execPath, ['server.js'], {
    cwd: example,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: port, TURNABOUT_URL: server.origin, TOKEN_LIFETIME: '4 seconds', UPLOADS: join(server.folder, 'uploads') },
  })
  await new Promise((resolve, reject) => {
    web.stdout.once('data', resolve)
    web.once('exit', (code) => reject(new Error(`the example's server ended (${code})`)))
  })
  ;({ browser, close: closeBrowser } = await openBrowser())
})

after(async () => {
  await closeBrowser?.()
  web?.kill()
  await proxy?.close()
  await server?.stop()
})

/** Opens one of the pages, once it has found its jobs. */
async function open(page, name) {
  const problems = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('request', (request) => addresses.push(request.url()))
  await page.goto(`${origin}/${name}.html?port=${new URL(proxy.origin).port}`)
  await page.getByLabel('Documents').waitFor()
  return problems
}

/** Uploads documents of so many pages; the items that show them. */
async function upload(page, documents) {
  const files = Object.entries(documents).map(([name, pages]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('a page\n'.repeat(pages)) }))
  await page.getByLabel('Documents').setInputFiles(files)
  const items = Object.keys(documents).map((name) => page.locator('li', { hasText: name }))
  for (const item of items) await item.waitFor()
  return items
}

const percent = async (item) => Number(await item.getByRole('progressbar').getAttribute('aria-valuenow'))
const says = (item, text) => item.getByRole('status').filter({ hasText: text }).waitFor()
/** Waits until a job is so far. */
const reaches = (page, item, least) =>
  item.getByRole('progressbar').elementHandle().then((bar) => page.waitForFunction(([bar, least]) => Number(bar.getAttribute('aria-valuenow')) >= least, [bar, least]))

for (const name of PAGES) {
  test(`${name}: progress moves, a job is cancelled, a failure is told, a reload shows what goes on`, async () => {
    const page = await browser.newPage()
    const problems = await open(page, name)
    const [long, unwanted, empty] = await upload(page, { 'long.txt': 60, 'unwanted.txt': 600, 'empty.txt': 0 })
    await reaches(page, long, 5)
    const early = await percent(long)
    await reaches(page, long, early + 5)
    await says(long, 'page')
    await unwanted.getByRole('button', { name: 'Cancel' }).click()
    await says(unwanted, 'Cancelled')
    await says(empty, 'The document has no pages.')
    const before = await percent(long)
    await page.reload()
    const again = page.locator('li', { hasText: 'long.txt' })
    await reaches(page, again, before)
    assert.equal(await page.locator('li').count(), 1, 'those that have ended are not shown again')
    await says(again, 'Finished')
    assert.equal(await percent(again), 100)
    assert.equal(await again.getByRole('button').count(), 0, 'nothing is left to cancel')
    assert.deepEqual(problems, [])
    await page.close()
  })

  test(`${name}: goes on after the server was started again, and with tokens that end meanwhile`, async () => {
    const page = await browser.newPage()
    const minted = []
    page.on('request', (request) => request.url().endsWith('/jobs-token') && minted.push(Date.now()))
    await open(page, name)
    const [item] = await upload(page, { 'restart.txt': 70 })
    await reaches(page, item, 10)
    await server.end('SIGTERM')
    const before = await percent(item)
    await server.run()
    await says(item, 'Finished')
    assert.ok(before >= 10)
    assert.ok(minted.length >= 2, `${minted.length} tokens`)
    await page.close()
  })

  test(`${name}: two tabs share one stream, and the second goes on when the first is closed`, async () => {
    const first = await browser.newPage()
    await open(first, name)
    const [item] = await upload(first, { 'shared.txt': 60 })
    await reaches(first, item, 5)
    proxy.mostStreams = proxy.streams
    const second = await browser.newPage()
    await open(second, name)
    const same = second.locator('li', { hasText: 'shared.txt' })
    await reaches(second, same, 20)
    await reaches(first, item, 25)
    assert.equal(proxy.streams, 1)
    await first.close()
    await says(same, 'Finished')
    assert.ok(proxy.mostStreams <= 2, 'one may be closing while the next is opened')
    await second.close()
  })

  test(`${name}: another tenant's flood does not matter`, async () => {
    const page = await browser.newPage()
    const problems = await open(page, name)
    const flooded = page.waitForResponse((response) => response.url().endsWith('/flood'))
    await page.getByRole('button', { name: 'Another tenant' }).click()
    assert.equal((await flooded).status(), 200)
    const documents = { 'one.txt': 8, 'two.txt': 8, 'three.txt': 8 }
    for (const item of await upload(page, documents)) await says(item, 'Finished')
    assert.equal(await page.locator('li').count(), 3, 'nothing of the other tenant is seen')
    const list = async (query) => (await server.ask(`/jobs?${query}`)).jobs
    const flood = await list('group=flooder&limit=1000')
    const ours = await list('group=acme&owner=ada&task=document&limit=3')
    await server.ask('/jobs/bulk', { action: 'cancel', filter: { group: 'flooder' } })
    assert.deepEqual(ours.map(({ subject }) => subject).sort(), Object.keys(documents).sort())
    for (const job of ours) {
      const [from, to] = [Date.parse(job.submitted), Date.parse(job.started)]
      const before = flood.filter(({ started }) => started && Date.parse(started) > from && Date.parse(started) < to)
      // By turns: one of theirs for each of ours that waits (three at the most), and what was in the slots' hands already.
      assert.ok(before.length <= 3 + SLOTS, `${before.length} of theirs began while ${job.subject} waited`)
    }
    const last = Math.max(...ours.map(({ started }) => Date.parse(started)))
    const behind = flood.filter(({ started }) => !started || Date.parse(started) > last)
    assert.ok(behind.length >= 80, `${behind.length} of theirs, which came first, began after the last of ours`)
    assert.deepEqual(problems, [])
    await page.close()
  })

  test(`${name}: a thousand jobs on one page use one connection`, async () => {
    const job = { group: 'acme', owner: 'ada', task: 'document', delay: '1 hour', args: { path: '/dev/null', file: 'one of many' } }
    await server.ask('/jobs/batch', { jobs: Array(1000).fill(job) })
    const page = await browser.newPage()
    const start = proxy.requests.length
    proxy.mostStreams = proxy.streams
    await open(page, name)
    await page.locator('li').nth(999).waitFor()
    await page.locator('#connection', { hasText: 'live' }).waitFor()
    const { changed } = await server.ask('/jobs/bulk', { action: 'cancel', filter: { group: 'acme', task: 'document' } })
    assert.equal(changed, 1000)
    await page.waitForFunction(() => {
      const texts = [...document.querySelectorAll('li')].map((item) => item.querySelector('job-progress')?.shadowRoot.textContent ?? item.textContent)
      return texts.length === 1000 && texts.every((text) => text.includes('Cancelled'))
    })
    assert.ok(proxy.mostStreams <= 2, `${proxy.mostStreams} streams at once`)
    // Tokens live for 4 seconds here, so that the stream is renewed now and then.
    const requests = proxy.requests.slice(start).filter(({ method }) => method !== 'OPTIONS')
    assert.ok(requests.length <= 12, JSON.stringify(requests))
    await page.close()
  })
}

test('a hidden page makes no requests, and catches up', async () => {
  const page = await browser.newPage()
  await open(page, 'plain')
  const [id] = await server.submit([{ task: 'document', args: { path: join(server.folder, 'document.sh'), file: 'x' } }])
  await page.evaluate(async ([id, url]) => {
    const { createJobs } = await import('turnabout-client')
    const token = () => fetch('/jobs-token', { method: 'POST' }).then((response) => response.json())
    window.own = createJobs({ url, token, hidden: 100 })
    window.seen = []
    window.own.track(id).subscribe((job) => window.seen.push(job.state))
    window.show = (state) => {
      Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }
  }, [id, proxy.url])
  await page.waitForFunction(() => window.own.connection === 'live' && window.seen.length > 0)
  await page.evaluate(() => window.show('hidden'))
  await page.waitForFunction(() => window.own.connection === 'idle')
  await server.ask(`/jobs/${id}/cancel`, {}, 'POST')
  const before = await page.evaluate(() => window.seen.at(-1))
  assert.notEqual(before, 'cancelled')
  await page.evaluate(() => window.show('visible'))
  await page.waitForFunction(() => window.seen.at(-1) === 'cancelled')
  await page.close()
})

test('<job-progress> is a progress bar for everyone, and looks as the page wants', async () => {
  const page = await browser.newPage()
  await open(page, 'plain')
  const [item] = await upload(page, { 'shown.txt': 40 })
  await reaches(page, item, 10)
  const shown = await item.locator('job-progress').evaluate((element) => {
    const part = (name) => element.shadowRoot.querySelector(`[part=${name}]`)
    const bar = part('bar')
    const color = () => getComputedStyle(part('done')).backgroundColor
    const before = color()
    element.style.setProperty('--job-progress-color', 'rgb(1, 2, 3)')
    element.setAttribute('label', 'Import of shown.txt')
    const button = !part('cancel').hidden
    element.removeAttribute('cancel')
    return {
      role: bar.getAttribute('role'),
      label: bar.getAttribute('aria-label'),
      range: [bar.getAttribute('aria-valuemin'), bar.getAttribute('aria-valuemax')],
      text: bar.getAttribute('aria-valuetext') === part('text').textContent && part('text').textContent,
      live: part('text').getAttribute('role'),
      colors: [before, color()],
      buttons: [button, !part('cancel').hidden],
    }
  })
  assert.match(shown.text, /^page \d+ of 40$/)
  assert.notEqual(shown.colors[0], shown.colors[1])
  assert.deepEqual([shown.role, shown.label, shown.range, shown.live, shown.colors[1], shown.buttons],
    ['progressbar', 'Import of shown.txt', ['0', '100'], 'status', 'rgb(1, 2, 3)', [true, false]])
  // By its role and name, as a screen reader finds it.
  await item.getByRole('progressbar', { name: 'Import of shown.txt' }).waitFor()
  await says(item, 'Finished')
  await page.close()
})

test('no token was in an address or in a log', () => {
  assert.ok(addresses.length > 20)
  for (const url of [...addresses, ...proxy.requests.map(({ url }) => url)]) assert.ok(!url.includes('turnabout_browser_'), url)
  const log = server.log.join('')
  assert.ok(log.length > 0 && !log.includes('turnabout_browser_') && !log.includes('example-only'))
})
