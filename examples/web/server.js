// The example's own server: it knows who is signed in, takes uploads, submits jobs and mints tokens. The rest a page does
// with Turnabout itself. It keeps the powerful token; no browser ever sees that.

import { createServer } from 'node:http'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const port = Number(process.env.PORT ?? 3000)
const turnabout = process.env.TURNABOUT_URL ?? 'http://127.0.0.1:7878'
const token = process.env.TURNABOUT_TOKEN ?? 'example-only'
const lifetime = process.env.TOKEN_LIFETIME ?? '15 minutes'
const uploads = process.env.UPLOADS ?? join(here, 'uploads')

/** Who may sign in, and to which group (tenant) they belong. A real application asks for a password. */
const USERS = { ada: 'acme', grace: 'acme', bob: 'blue' }

const KINDS = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

// React needs a bundler; Vue and plain pages do not.
const react = buildSync({
  entryPoints: [join(here, 'pages/react.jsx')],
  bundle: true,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  // The client is a linked folder here: without this it might find a React of its own.
  alias: { react: join(here, 'node_modules/react') },
  write: false,
}).outputFiles[0].contents

mkdirSync(uploads, { recursive: true })

/** Asks Turnabout, as the application. */
async function ask(path, body) {
  const response = await fetch(`${turnabout}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.detail), { status: response.status })
  return answer
}

/** Who is signed in. */
function user(request) {
  const [, name] = /(?:^|; )user=(\w+)/.exec(request.headers.cookie ?? '') ?? []
  return name in USERS ? { owner: name, group: USERS[name] } : { owner: 'ada', group: 'acme' }
}

async function body(request) {
  const parts = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

const ROUTES = {
  // A token for the jobs of whoever is signed in, and for nothing else.
  'POST /jobs-token': async (request) => (await ask('/tokens', { ...user(request), cancel: true, lifetime })).token,

  'POST /documents': async (request, url) => {
    const path = join(uploads, randomUUID())
    writeFileSync(path, await body(request))
    const file = url.searchParams.get('name') ?? 'document'
    return ask('/jobs', { ...user(request), task: 'document', args: { path, file }, subject: file })
  },

  // Another tenant submits a hundred at once. It takes turns with the others like everyone.
  'POST /flood': async () => {
    const path = join(uploads, 'flood')
    writeFileSync(path, 'a page\n'.repeat(5))
    const job = { group: 'flooder', task: 'document', args: { path, file: 'flood' } }
    return ask('/jobs/batch', { jobs: Array.from({ length: 100 }, () => job) })
  },

  'GET /react.js': () => ({ file: react, kind: 'text/javascript' }),
}

/** A file of the pages, or of the packages that they import. */
function file(path) {
  const inside = normalize(path === '/' ? '/index.html' : path)
  const place = inside.startsWith('/node_modules/') ? join(here, inside) : join(here, 'pages', inside)
  return { file: readFileSync(place), kind: KINDS[extname(place)] ?? 'application/octet-stream' }
}

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  try {
    const route = ROUTES[`${request.method} ${url.pathname}`]
    const answer = route ? await route(request, url) : file(url.pathname)
    if (answer?.file) return response.writeHead(200, { 'content-type': answer.kind }).end(answer.file)
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(answer))
  } catch (error) {
    const status = error.status ?? (error.code === 'ENOENT' || error.code === 'EISDIR' ? 404 : 502)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: status === 502 ? 'try again' : error.message }))
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
