// The guide works when it is pasted: its configuration, its three backends and its three pages, as they are written there.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { compileScript, parse } from 'vue/compiler-sfc'
import { createJobs } from '../src/index.js'
import { openBrowser } from './browser.js'
import { freePort, PROGRAM, Server } from './server.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const packages = join(root, 'examples/web/node_modules')
const guide = readFileSync(join(root, 'docs/guide/front-end.md'), 'utf8')
const blocks = [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({ kind, text }))
const block = (kind, part) => {
  const found = blocks.filter((block) => block.kind === kind && block.text.includes(part))
  assert.equal(found.length, 1, `${found.length} blocks of ${kind} with ${part}`)
  return found[0].text
}

/** How each backend is started, and the name of its source, which no visitor may read. */
const BACKENDS = {
  Node: { command: () => [process.execPath, 'server.mjs'], source: 'server.mjs' },
  Python: {
    command: (port) => [process.env.TURNABOUT_FASTAPI, 'server:app', '--port', String(port), '--log-level', 'warning'],
    source: 'server.py',
    missing: process.env.TURNABOUT_FASTAPI ? false : 'FastAPI could not be had; scripts/test-clients installs it from PyPI',
  },
  Rust: { command: () => [AXUM], source: 'main.rs' },
}
const AXUM = process.env.TURNABOUT_AXUM ?? join(dirname(PROGRAM), 'examples/front_end')

let folder, pages, server, browser, closeBrowser
const running = []

before(async () => {
  for (const backend of Object.values(BACKENDS)) {
    backend.port = await freePort()
    backend.origin = `http://127.0.0.1:${backend.port}`
  }
  const origins = Object.values(BACKENDS).map(({ origin }) => origin)
  const text = block('toml', 'cors-origins').replace('"http://127.0.0.1:3000"', origins.map((origin) => `"${origin}"`).join()).replace('sleep 1;', 'sleep 0.2;')
  server = await Server.start({ text })
  folder = mkdtempSync(join(tmpdir(), 'turnabout-guide-'))
  pages = join(folder, 'public')
  mkdirSync(pages)
  // As `npm install turnabout-client` would: files, since not every web server follows links. The rest is for bundlers.
  for (const part of ['package.json', 'src']) cpSync(join(root, 'clients/js', part), join(pages, 'node_modules/turnabout-client', part), { recursive: true })
  for (const name of readdirSync(packages).filter((name) => name !== 'turnabout-client')) symlinkSync(join(packages, name), join(pages, 'node_modules', name))
  writeFileSync(join(folder, 'server.mjs'), block('js', '// server.mjs'))
  writeFileSync(join(folder, 'server.py'), block('python', '# server.py'))
  writeFileSync(join(folder, 'main.rs'), block('rust', '// cargo add'))
  writeFileSync(join(pages, 'jobs.js'), block('js', '// jobs.js').replace('7878', server.port))
  writeFileSync(join(pages, 'index.html'), block('html', '<!-- index.html -->'))
  writeFileSync(join(pages, 'main.js'), block('js', '// main.js'))
  writeFileSync(join(pages, 'App.vue'), block('vue', '<!-- App.vue -->'))
  writeFileSync(join(pages, 'react.jsx'), block('jsx', 'JobsProvider'))
  for (const [entry, name] of [['main.js', 'vue'], ['react.jsx', 'react']]) {
    await build({
      entryPoints: [join(pages, entry)],
      outfile: join(pages, `${name}.bundle.js`),
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      alias: { vue: join(packages, 'vue/dist/vue.esm-bundler.js') },
      logLevel: 'error',
      define: { 'process.env.NODE_ENV': '"production"' },
      plugins: [{
        name: 'vue',
        setup(build) {
          build.onLoad({ filter: /\.vue$/ }, ({ path }) => {
            const { descriptor } = parse(readFileSync(path, 'utf8'))
            return { contents: compileScript(descriptor, { id: 'app', inlineTemplate: true }).content, loader: 'js' }
          })
        },
      }],
    })
    writeFileSync(join(pages, `${name}.html`), `<!doctype html><div id="app"></div><script type="module" src="/${name}.bundle.js"></script>`)
  }
  ;({ browser, close: closeBrowser } = await openBrowser())
})

after(async () => {
  await closeBrowser?.()
  for (const child of running) child.kill()
  await server?.stop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

/** Starts a backend, unless it runs already; where it answers. */
async function serve(name) {
  const { command, port, origin, child } = BACKENDS[name]
  if (child) return origin
  const [program, ...args] = command(port)
  assert.ok(existsSync(program), `there is no ${program}; build it: cargo build -p turnabout-server --bins --examples`)
  const env = { ...process.env, PORT: port, TURNABOUT_URL: server.origin, TURNABOUT_TOKEN: 'example-only' }
  const started = spawn(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'], env })
  BACKENDS[name].child = started
  running.push(started)
  while (!(await fetch(origin).then(() => true, () => false))) {
    assert.equal(started.exitCode, null, `the backend in ${name} has ended`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return origin
}

/** A person's visit: a click, a look at what goes on, a reload in the middle. */
async function visit(address) {
  const page = await browser.newPage()
  const problems = []
  page.on('pageerror', (error) => problems.push(String(error)))
  await page.goto(address)
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByRole('status').filter({ hasText: 'table' }).waitFor()
  await page.reload()
  await page.getByRole('status').filter({ hasText: 'Finished' }).waitFor()
  assert.deepEqual(problems, [])
  await page.close()
}

for (const [name, path] of [['plain HTML', '/'], ['Vue', '/vue.html'], ['React', '/react.html']]) {
  test(`${name}, as the guide has it`, async () => visit((await serve('Node')) + path))
}

for (const [name, { source, missing }] of Object.entries(BACKENDS)) {
  test(`the backend in ${name}, as the guide has it`, { skip: missing }, async () => {
    const origin = await serve(name)
    const post = async (path) => (await fetch(origin + path, { method: 'POST' })).text()
    const token = await post('/jobs-token')
    assert.match(token, /^turnabout_browser_/)
    const jobs = createJobs({ url: server.url, token: () => token })
    const job = jobs.track(await post('/documents'))
    const end = await job.done({ signal: AbortSignal.timeout(30_000) })
    assert.deepEqual([end.state, end.group, end.owner, end.public], ['success', 'acme', 'ada', { file: 'a.csv' }])
    jobs.close()
    await visit(origin + '/')
    for (const path of [source, `../${source}`, `%2e%2e/${source}`, `..%2f${source}`]) {
      assert.equal((await fetch(`${origin}/${path}`)).status, 404, `${path} is nobody's business`)
    }
  })
}

test('the backend in Rust that is compiled is the one of the guide', () => {
  const compiled = readFileSync(join(root, 'crates/turnabout-server/examples/front_end/guide.rs.inc'), 'utf8')
  assert.equal(compiled, block('rust', '// cargo add'))
})
