// A place to test in: the real program on a store of its own, a browser, and everything that must not happen in it.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const PROGRAM = process.env.TURNABOUT ?? new URL("../../../../target/debug/turnabout", import.meta.url).pathname;
export const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

/** A port that nobody uses: a server that is started again has to have the same one. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A server, from its start to its end. */
export class Server {
  constructor(folder, store, config, args) {
    Object.assign(this, { folder, store, args, child: null, port: 0 });
    this.config = join(folder, `turnabout-${Math.random().toString(36).slice(2)}.toml`);
    writeFileSync(this.config, config);
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves as soon as it serves. */
  async start() {
    this.port ||= await freePort();
    const args = ["serve", "--config", this.config, "--address", `127.0.0.1:${this.port}`, ...this.args];
    const env = { ...process.env, TURNABOUT_DATABASE: this.store.url, ...(this.store.schema ? { TURNABOUT_SCHEMA: this.store.schema } : {}) };
    this.child = spawn(PROGRAM, args, { cwd: this.folder, env, stdio: ["ignore", "ignore", "pipe"] });
    const said = [];
    await new Promise((resolve, reject) => {
      this.child.once("exit", () => reject(new Error(`the server ended:\n${said.join("\n")}`)));
      createInterface({ input: this.child.stderr }).on("line", (line) => {
        said.push(line);
        if (line.includes("serving the jobs")) resolve();
      });
    });
    return this;
  }

  /** Resolves when it has ended. */
  async stop() {
    const child = this.child;
    if (!child || child.exitCode !== null) return;
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    // A second signal ends it at once.
    setTimeout(() => child.kill("SIGTERM"), 300).unref();
    await over;
  }

  /** Calls the API. */
  async call(method, path, body, token) {
    const headers = { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(`${this.url}/api/v1/${path}`, { method, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  /** Submits jobs, and gives their ids. */
  async submit(...jobs) {
    const done = await this.call("POST", "jobs/batch", { jobs });
    const refused = done.outcomes.find((outcome) => outcome.problem);
    if (refused) throw new Error(refused.problem.detail);
    return done.outcomes.map((outcome) => outcome.id);
  }

  /** Waits until a job is in one of these states, by the events of the server. */
  async reaches(id, ...states) {
    const stop = new AbortController();
    const response = await fetch(`${this.url}/api/v1/events?ids=${id}`, { signal: stop.signal });
    let text = "";
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      const seen = [...text.matchAll(/^data: (\{.*"state".*\})$/gm)].map((found) => JSON.parse(found[1]).state);
      if (seen.some((state) => states.includes(state))) {
        stop.abort();
        return;
      }
    }
    throw new Error(`job ${id} ended and was never ${states}`);
  }
}

/** Everything for one store. */
export class Place {
  constructor(store) {
    this.folder = mkdtempSync(join(tmpdir(), "turnabout-dashboard-"));
    const schema = `dashboard_${process.pid}`;
    this.store = store === "sqlite" ? { url: `sqlite://${join(this.folder, "jobs.db")}` } : { url: process.env.TURNABOUT_TEST_POSTGRES, schema };
    if (!this.store.url) throw new Error("TURNABOUT_TEST_POSTGRES is not set: run this under scripts/postgres run --");
    this.servers = [];
  }

  async server(config, ...args) {
    const server = await new Server(this.folder, this.store, config, args).start();
    this.servers.push(server);
    return server;
  }

  async browser() {
    this.chromium ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    return this.chromium;
  }

  /**
   * A page of its own, that is watched: errors in the console (but those that are expected), requests to anywhere else and
   * violations of the policy are noted in `bad`.
   */
  async page(server, { expect = [], width = 1280, height = 900, dark = false } = {}) {
    const context = await (await this.browser()).newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
    const page = await context.newPage();
    // Patience, not a measure: nothing here depends on how fast it is.
    page.setDefaultTimeout(60_000);
    const bad = [];
    page.on("console", (message) => {
      const text = `${message.text()} ${message.location().url}`;
      if (message.type() === "error" && !expect.some((one) => one.test(text))) bad.push(`console: ${text}`);
    });
    page.on("pageerror", (error) => bad.push(`error: ${error.stack}`));
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== server.url) bad.push(`request: ${request.url()}`);
    });
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    return { page, bad, close: () => context.close() };
  }

  async end() {
    await this.chromium?.close();
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
