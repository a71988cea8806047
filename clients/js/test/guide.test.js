// The guide works when it is pasted: its configuration, its backend in Node and its three pages, as they are written there.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { compileScript, parse } from 'vue/compiler-sfc'
import { openBrowser } from './browser.js'
import { freePort, Server } from './server.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const guide = readFileSync(join(root, 'docs/guide/front-end.md'), 'utf8')
const blocks = [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({ kind, text }))
const block = (kind, part) => {
  const found = blocks.filter((block) => block.kind === kind && block.text.includes(part))
  assert.equal(found.length, 1, `${found.length} blocks of ${kind} with ${part}`)
  return found[0].text
}

let folder, server, backend, origin, browser, closeBrowser

before(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  const ours = (text) => text.replaceAll('7878', server?.port).replaceAll('3000', port)
  server = await Server.start({ text: block('toml', 'cors-origins').replace('3000', port).replace('sleep 1;', 'sleep 0.1;') })
  folder = mkdtempSync(join(tmpdir(), 'turnabout-guide-'))
  symlinkSync(join(root, 'examples/web/node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'server.js'), ours(block('js', '// server.js')))
  writeFileSync(join(folder, 'jobs.js'), ours(block('js', '// jobs.js')))
  writeFileSync(join(folder, 'index.html'), block('html', '<!-- index.html -->'))
  writeFileSync(join(folder, 'main.js'), block('js', '// main.js'))
  writeFileSync(join(folder, 'App.vue'), block('vue', '<!-- App.vue -->'))
  writeFileSync(join(folder, 'react.jsx'), block('jsx', 'JobsProvider'))
  for (const [entry, name] of [['main.js', 'vue'], ['react.jsx', 'react']]) {
    await build({
      entryPoints: [join(folder, entry)],
      outfile: join(folder, `${name}.bundle.js`),
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      // The client is a linked folder: without this it would find others of its own.
      alias: { react: join(folder, 'node_modules/react'), vue: join(folder, 'node_modules/vue/dist/vue.esm-bundler.js') },
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
    writeFileSync(join(folder, `${name}.html`), `<!doctype html><div id="app"></div><script type="module" src="/${name}.bundle.js"></script>`)
  }
  backend = spawn(process.execPath, ['server.js'], { cwd: folder, stdio: 'inherit' })
  while (!(await fetch(origin).then(() => true, () => false))) await new Promise((resolve) => setTimeout(resolve, 20))
  ;({ browser, close: closeBrowser } = await openBrowser())
})

after(async () => {
  await closeBrowser?.()
  backend?.kill()
  await server?.stop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

for (const [name, path] of [['plain HTML', '/'], ['Vue', '/vue.html'], ['React', '/react.html']]) {
  test(`${name}, as the guide has it`, async () => {
    const page = await browser.newPage()
    const problems = []
    page.on('pageerror', (error) => problems.push(String(error)))
    await page.goto(origin + path)
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByRole('status').filter({ hasText: 'table' }).waitFor()
    await page.reload()
    await page.getByRole('status').filter({ hasText: 'Finished' }).waitFor()
    assert.deepEqual(problems, [])
    await page.close()
  })
}

test('the backend in Python is Python', () => {
  const { status, stderr } = spawnSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: block('python', 'FastAPI'), encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})
