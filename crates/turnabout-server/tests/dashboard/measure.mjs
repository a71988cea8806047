// How fast the operator's page is on a full store: first paint, every list, how soon a change is seen, and what twenty open
// pages cost those who run jobs. It prints a table, and asserts nothing: the machine decides.
//
//   scripts/measure-dashboard [sqlite | postgres]

import { execFileSync } from "node:child_process";
import { setMaxListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Place } from "./place.mjs";

const store = process.env.STORE ?? "sqlite";
// As many as are asked for, on PostgreSQL; a tenth of that on SQLite.
const share = Number(process.env.SHARE ?? 1) * (store === "sqlite" ? 0.1 : 1);
const [WAITING, ENDED, GROUPS] = [1_000_000, 2_000_000, 10_000].map((number) => Math.round(number * share));
const ROUNDS = Number(process.env.ROUNDS ?? 5);
/** What is measured: how long pages take (`lists`), how soon a change is seen (`seen`), what open pages cost (`cost`). */
const PARTS = (process.env.PARTS ?? "lists,seen,cost").split(",");
const LOOKS = 20;
const PAGES = 20;
/** For so many seconds it is seen how often a page asks. */
const HABITS = 15;
const DRAINED = store === "sqlite" ? 150_000 : 100_000;

const place = new Place(store);
const rows = [];
const tell = (what, measured) => {
  rows.push([what, measured]);
  console.log(`${what.padEnd(64)} ${measured}`);
};
// So many of all are no longer than this.
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.ceil(q * list.length) - 1];
const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const spread = (list) => `${ms(quantile(list, 0.95))} (median ${ms(quantile(list, 0.5))}, longest ${ms(quantile(list, 1))})`;

/** One batch after the other, four at a time. */
async function submit(server, count, job) {
  let next = 0;
  const send = async () => {
    while (next < count) {
      const from = next;
      next += 1000;
      await server.submit(...Array.from({ length: Math.min(1000, count - from) }, (_, n) => job(from + n)));
    }
  };
  await Promise.all([send(), send(), send(), send()]);
}

/** Waits until nothing of a queue is left. */
async function drained(server, queue) {
  for (;;) {
    const page = await server.call("GET", `jobs?queue=${queue}&state=waiting,scheduled,running,stuck&limit=1`);
    if (page.jobs.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Jobs that wait, of all groups, and jobs that have ended, of which some have failed. */
async function fill(server) {
  if (store === "postgres") {
    const file = join(place.folder, "fill.sql");
    writeFileSync(file, `
      set search_path = ${place.store.schema};
      insert into job (id, submitted, lane, queue, "group", task, args, subject)
      select id_at(at), at, 2, 'default', 'g' || n % ${GROUPS}, 'sleep', '{"seconds":0}', 'document ' || n
      from generate_series(1, ${WAITING}) n, lateral (select now() - interval '1 hour' + n * interval '1 hour' / ${WAITING} as at) t;
      insert into arrival (queue, "group", lane, task, first)
      select queue, "group", lane, task, min(seq) from job where due is null group by queue, "group", lane, task;
      insert into job_history (id, submitted, started, finished, attempts, interruptions, losses, items, state, priority, queue,
        "group", task, args, subject, reason, error, error_code)
      select id_at(at), at, at + interval '1 hour', at + interval '1 hour', 1, 0, 0, 1,
        case when n % 1000 = 0 then 5 else 4 end, 2, 'default', 'g' || n % ${GROUPS}, 'sleep', '{"seconds":0}', 'document ' || n,
        case when n % 1000 = 0 then 2 end, case when n % 1000 = 0 then 'the file is damaged' end, case when n % 1000 = 0 then 'damaged' end
      from generate_series(1, ${ENDED}) n, lateral (select now() - interval '2 hours' + n * interval '1 hour' / ${ENDED} as at) t;
      analyze;`);
    execFileSync("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, place.store.url], { stdio: "inherit" });
    return;
  }
  const ender = await place.server(`[executor]\nqueues = ["past"]\n[tasks.bad]\ncommand = ["false"]\nretries = 0\n`, "--pool-size", "8");
  const group = (n) => `g${n % GROUPS}`;
  await submit(ender, ENDED, (n) => ({ task: n % 1000 === 0 ? "bad" : "sleep", args: { seconds: 0, steps: 1 }, queue: "past", group: group(n), subject: `document ${n}` }));
  await drained(ender, "past");
  await ender.stop();
  await submit(server, WAITING, (n) => ({ task: "sleep", args: { seconds: 0, steps: 1 }, group: group(n), subject: `document ${n}` }));
}

const LISTS = {
  "jobs, all": "#/jobs",
  "jobs of a group": "#/jobs?q=group%3Ag7",
  "jobs that failed": "#/jobs?q=state%3Afailed",
  "jobs that wait, of a task": "#/jobs?q=state%3Awaiting%20task%3Asleep",
  "jobs with words in the subject": "#/jobs?q=document%20777",
  "jobs with an error's code": "#/jobs?q=code%3Adamaged",
  "jobs older than 90 minutes": "#/jobs?q=age%3E90m",
  now: "#/", fairness: "#/fairness", groups: "#/groups", "one group": "#/groups/g7", tasks: "#/tasks", "one task": "#/tasks/sleep",
  queues: "#/queues", executors: "#/executors", failures: "#/failures", schedules: "#/schedules", audit: "#/audit",
};

/** How long each page takes from the first request to the last answer, as a reader waits for it. */
async function lists(server) {
  const { page, bad, close } = await place.page(server);
  const paints = [];
  for (let n = 0; n < LOOKS; n++) {
    await page.goto("about:blank");
    await page.goto(`${server.url}/`);
    await page.locator(".verdict").waitFor();
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
  }
  tell("first paint, p95", spread(paints));
  for (const [name, hash] of Object.entries(LISTS)) {
    const took = [];
    for (let n = 0; n < LOOKS; n++) {
      await page.evaluate(() => {
        location.hash = "#/schedules/none";
        performance.clearResourceTimings();
      });
      await page.locator("main .skeleton").waitFor({ state: "hidden" });
      await page.evaluate((to) => {
        performance.clearResourceTimings();
        location.hash = to;
      }, hash);
      await page.waitForFunction(() => !document.querySelector("main .skeleton") && performance.getEntriesByType("resource").some((one) => one.name.includes("/api/v1/")));
      // The list itself is the slowest of the first answers; how many there are is counted after it, and shown later.
      const answers = await page.evaluate(() => performance.getEntriesByType("resource")
        .filter((one) => one.name.includes("/api/v1/") && !/events|count=true/.test(one.name)).map((one) => one.duration));
      if (answers.length > 0) took.push(Math.max(...answers));
    }
    tell(`${name}, p95`, spread(took));
  }
  if (bad.length > 0) console.log(bad.slice(0, 5));
  await close();
}

/** From the end of a job, as the server wrote it down, until its page says so. */
async function seen(server) {
  const { page, close } = await place.page(server);
  const took = [];
  for (let n = 0; n < LOOKS; n++) {
    const [id] = await server.submit({ task: "sleep", args: { seconds: 3 }, queue: "watched", group: "watched" });
    await page.goto(`${server.url}/#/jobs/${id}`);
    // A job that has ended before its page was there tells nothing.
    await page.locator(".jobhead .state.running").waitFor();
    const at = await page.evaluate(() => new Promise((resolve) => {
      const look = () => document.querySelector(".jobhead .state.success") && resolve(Date.now());
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    }));
    const job = await server.call("GET", `jobs/${id}`);
    took.push(at - Date.parse(job.finished));
  }
  tell("a state is seen after its commit, median", `${ms(quantile(took, 0.5))} (p95 ${ms(quantile(took, 0.95))})`);
  await close();
}

/** What a page asks for while jobs are drained: addresses, and how old an answer may be. */
async function habits(server) {
  const { page, close } = await place.page(server);
  const asked = [];
  page.on("request", (request) => asked.push({ url: request.url(), age: request.headers()["cache-control"] ?? "no-cache" }));
  await page.goto(`${server.url}/`);
  await page.locator(".verdict").waitFor();
  // A page that has just been opened asks for everything at once, and then rests.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  asked.length = 0;
  for (let second = 0; second < HABITS; second++) {
    await submit(server, 1000, () => ({ task: "sleep", args: { seconds: 0, steps: 1 }, queue: "drained", group: "habits" }));
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  await close();
  return asked.filter(({ url }) => url.includes("/api/v1/"));
}

/** Reads events as a page does: more than 300 of them in a second are left alone for twenty seconds (dashboard/live.js). */
async function follow(url, signal) {
  while (!signal.aborted) {
    const busy = new AbortController();
    const told = new TextDecoder();
    let [second, events] = [0, 0];
    try {
      const response = await fetch(url, { signal: AbortSignal.any([signal, busy.signal]) });
      for await (const part of response.body) {
        const now = Math.floor(performance.now() / 1000);
        if (now !== second) [second, events] = [now, 0];
        events += told.decode(part, { stream: true }).split("\n\n").length - 1;
        if (events > 300) busy.abort();
      }
    } catch {
      // Either too much was told, or the round is over.
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 20_000).unref();
      signal.addEventListener("abort", resolve, { once: true });
    });
  }
}

/** Jobs a second, with and without twenty readers who ask as often as a page does. */
async function cost(server) {
  const asked = await habits(server);
  const streams = asked.filter(({ url }) => url.includes("/events"));
  const requests = asked.filter(({ url }) => !url.includes("/events"));
  const read = ({ url, age }, signal) => fetch(url, { signal, headers: { "cache-control": age } }).then((response) => response.arrayBuffer());
  tell("a page beside a flood asks", `${(requests.length / HABITS).toFixed(1)} times a second`);
  for (const url of new Set(requests.map(({ url }) => url))) {
    const begin = performance.now();
    for (let n = 0; n < LOOKS; n++) await read({ url, age: "no-cache" });
    const often = requests.filter((other) => other.url === url).length / HABITS;
    tell(`  ${new URL(url).pathname}${new URL(url).search}`, `${often.toFixed(2)} a second, ${ms((performance.now() - begin) / LOOKS)} each`);
  }
  const rate = async (readers) => {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const reader = async (number) => {
      if (streams[0]) void follow(streams[0].url, stop.signal);
      await new Promise((resolve) => setTimeout(resolve, number * 50));
      for (let n = number; !stop.signal.aborted; n++) {
        const next = new Promise((resolve) => setTimeout(resolve, 1000 * HABITS / Math.max(1, requests.length)));
        if (requests.length > 0) await read(requests[n % requests.length], stop.signal).catch(() => {});
        await next;
      }
    };
    await server.call("PATCH", "tasks/sleep", { paused: true });
    await submit(server, DRAINED, (n) => ({ task: "sleep", args: { seconds: 0, steps: 1 }, queue: "drained", group: `d${n % 100}` }));
    const readings = Array.from({ length: readers }, (_, n) => reader(n));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const begin = performance.now();
    await server.call("PATCH", "tasks/sleep", { paused: false });
    await drained(server, "drained");
    const took = (performance.now() - begin) / 1000;
    stop.abort();
    await Promise.all(readings);
    return DRAINED / took;
  };
  await rate(0);
  const ratios = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const without = await rate(0);
    const beside = await rate(PAGES);
    ratios.push(beside / without);
    tell(`round ${round}: jobs a second, alone and beside ${PAGES} pages`, `${without.toFixed(0)} ${beside.toFixed(0)} (${(beside / without).toFixed(2)})`);
  }
  tell(`beside ${PAGES} pages / alone, median of ${ROUNDS}`, quantile(ratios, 0.5).toFixed(2));
}

try {
  console.log(`${store}: ${WAITING} jobs wait, ${ENDED} have ended, ${GROUPS} groups`);
  const server = await place.server("[api]\nrate = 100000\nrate-burst = 100000\n", "--no-executor");
  await fill(server);
  if (PARTS.includes("lists")) {
    // As on the morning after a restart: the first look at each page is one of the twenty.
    await server.stop();
    await server.start();
    await lists(server);
  }
  if (PARTS.includes("seen")) {
    const runner = await place.server(`[executor]\nqueues = ["watched"]\n`, "--pool-size", "4");
    await seen(runner);
    await runner.stop();
  }
  await server.stop();
  if (PARTS.includes("cost")) {
    const drain = await place.server(`[api]\nrate = 100000\nrate-burst = 100000\n[executor]\nqueues = ["drained"]\n`, "--pool-size", "64");
    await cost(drain);
  }
} finally {
  await place.end();
}
