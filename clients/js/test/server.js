// The real server, for tests: started in a folder of its own, on a port of its own.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
export const PROGRAM = process.env.TURNABOUT_PROGRAM ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug', 'turnabout')

export const hash = (token) => 'sha256:' + createHash('sha256').update(token).digest('hex')

/** A port that nobody uses at present. */
export const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const CONFIG = (origins) => `
[api]
rate = 100000
rate-burst = 100000
cors-origins = ${JSON.stringify(origins)}
[executor]
pool-size = 8
[tokens.chief]
hash = "${hash('chief')}"
role = "admin"
[tokens.acme]
hash = "${hash('acme')}"
role = "group"
group = "acme"
# Says how far it is, and takes as long as it is told.
[tasks.import]
command = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep $0; echo ::progress $((i * 10)) table $i; done; echo '{{\\"tables\\": 10}}'", "{args.pause}"]
result = "last-line"
public = ["file"]
# Fails for good, and says why.
[tasks.broken]
command = ["sh", "-c", "echo '::error no-pages The file has no pages.'; exit 3"]
permanent-codes = [3]
statuses = { no-pages = 422 }
`

export class Server {
  static async start({ origins = [], port, text } = {}) {
    if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}; build it: cargo build -p turnabout-server`)
    const server = new Server()
    server.folder = mkdtempSync(join(tmpdir(), 'turnabout-js-'))
    server.port = port ?? (await freePort())
    server.origin = `http://127.0.0.1:${server.port}`
    server.url = `${server.origin}/api/v1`
    server.log = []
    writeFileSync(join(server.folder, 'turnabout.toml'), text ?? CONFIG(origins))
    await server.run()
    return server
  }

  run() {
    this.child = spawn(PROGRAM, ['serve', '--address', `127.0.0.1:${this.port}`], {
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, RUST_LOG: 'debug,hyper=info,h2=info' },
    })
    this.child.stderr.setEncoding('utf8')
    return new Promise((resolve, reject) => {
      this.child.stderr.on('data', (text) => {
        this.log.push(text)
        if (text.includes('serving the jobs')) resolve()
      })
      this.child.once('exit', (code) => reject(new Error(`the server ended (${code}):\n${this.log.join('')}`)))
    })
  }

  async end(signal = 'SIGTERM') {
    if (this.child.exitCode !== null) return
    const ended = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill(signal)
    await ended
  }

  async stop() {
    await this.end('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** A request as an administrator. */
  async ask(path, body, method = body ? 'POST' : 'GET', token = 'chief') {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    const answer = response.status === 204 ? undefined : await response.json()
    if (!response.ok) throw Object.assign(new Error(JSON.stringify(answer)), { answer })
    return answer
  }

  /** Submits jobs of one owner; their ids. */
  async submit(jobs, owner = 'ada') {
    const ids = []
    for (let at = 0; at < jobs.length; at += 1000) {
      const batch = jobs.slice(at, at + 1000).map((job) => ({ group: 'acme', owner, ...job }))
      const { outcomes } = await this.ask('/jobs/batch', { jobs: batch })
      ids.push(...outcomes.map(({ id, problem }) => id ?? assertNever(problem)))
    }
    return ids
  }

  /** A function that mints tokens for an owner, and counts them. */
  tokens(lifetime = '15 minutes', more = { group: 'acme', owner: 'ada', cancel: true }) {
    const mint = async () => {
      mint.count += 1
      const { token } = await this.ask('/tokens', { ...more, lifetime })
      mint.all.push(token)
      return token
    }
    return Object.assign(mint, { count: 0, all: [] })
  }
}

function assertNever(problem) {
  throw new Error(`a job was refused: ${JSON.stringify(problem)}`)
}
