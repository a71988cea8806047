// Pictures of each page for the documentation: light, dark and as wide as a telephone, of a seeded demonstration on SQLite.
//
//   scripts/screenshots [FOLDER]

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Place } from "./place.mjs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
const CONFIG = `
[tasks.extract-text]
command = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo reading page $i of 9; echo ::progress $((i * 10)) page $i of 9; sleep 1; done"]
[tasks.ocr]
command = ["sh", "-c", "echo looking for text in the scan; echo 'the scan has no text layer and its language is unknown' >&2; exit 65"]
permanent-codes = [65]
[tasks.thumbnail]
command = ["sh", "-c", "echo 96 by 96; sleep 1.1"]
[tasks.mail]
command = ["sh", "-c", "echo 'connection to mail.example.org refused' >&2; exit 75"]
retry-delay = "10 minutes"
[schedules.nightly-report]
expression = "0 2 * * *"
zone = "Europe/Berlin"
task = "extract-text"
subject = "the nightly report"
[schedules.cleanup]
expression = "every 15 minutes"
task = "thumbnail"
[schedules.invoices]
expression = "Mon..Fri 09:00"
task = "mail"
group = "acme"
[groups.acme]
weight = 3
[links]
job = "https://logs.example.org/search?q={id}"
group = "https://admin.example.org/tenants/{group}"
`;

const place = new Place("sqlite");
const server = await place.server(CONFIG, "--pool-size", "8", "--name", "worker-1");

/** Work as there is on a bad day: one tenant uploads everything at once, the others go on as usual. */
async function seed() {
  const jobs = [];
  const tenants = ["acme", "globex", "hooli", "initech", "umbrella/research", "vandelay"];
  for (let n = 0; n < 950; n++) jobs.push({ task: "thumbnail", group: "bigcorp", args: { file: `/upload/${n}.tif` }, subject: `upload ${n + 1} of 950` });
  for (let n = 0; n < 7; n++) jobs.push({ task: "ocr", group: "globex", args: { scan: n, account: 1 }, subject: `scan ${n + 1} of the archive` });
  for (let n = 0; n < 4; n++) jobs.push({ task: "mail", group: "acme", args: { to: "ada@example.org" }, subject: "weekly digest" });
  for (const group of tenants) for (let n = 0; n < 3; n++) jobs.push({ task: "extract-text", group, owner: "ada", args: { path: `/in/contract-${n}.pdf` }, subject: `contract-${n + 1}.pdf` });
  await server.submit(...jobs);
}

/** While pictures are taken, the quiet ones come back for more. */
const later = setInterval(() => {
  const tenants = ["acme", "globex", "hooli", "initech", "umbrella/research", "vandelay"];
  const one = (group) => ({ task: "thumbnail", group, args: { file: "/in/photo.jpg" }, subject: "photo.jpg" });
  void server.submit(...tenants.map(one)).catch(() => {});
}, 2500);

const SIZES = { light: { width: 1280, height: 800 }, dark: { width: 1280, height: 800, dark: true }, telephone: { width: 390, height: 800 } };

try {
  await seed();
  await server.call("PATCH", "groups/vandelay", { paused: true });
  await server.call("POST", "schedules/cleanup/run", {});
  const page = async (options) => place.page(server, options);
  // A minute of history, so that lines have something to tell. There is nothing to wait for but time.
  const watcher = await page({});
  await watcher.page.goto(`${server.url}/#/fairness`);
  await watcher.page.waitForTimeout(Number(process.env.HISTORY ?? 75) * 1000);
  await server.submit(...Array.from({ length: 6 }, (_, n) => ({ task: "extract-text", group: "hooli", owner: "ada", args: { path: `/in/contract-${n}.pdf`, account: 7 }, subject: `contract-${n + 1}.pdf` })));
  const find = async (query) => (await server.call("GET", `jobs?${query}&limit=1`)).jobs[0]?.id;
  const waits = await find("group=bigcorp&state=waiting");
  const failed = await find("task=ocr&state=failed");
  const shots = { now: "#/", fairness: "#/fairness", jobs: "#/jobs", job: `#/jobs/${waits}`, "failed-job": `#/jobs/${failed}`, failures: "#/failures", tasks: "#/tasks", groups: "#/groups",
    group: "#/groups/bigcorp", queues: "#/queues", executors: "#/executors", schedules: "#/schedules", audit: "#/audit" };
  for (const [look, options] of Object.entries(SIZES)) {
    const { page: tab, close } = await page(options);
    for (const [name, hash] of Object.entries(shots)) {
      // Of most pages one picture says it; those that one looks at on a bad day are there in each.
      if (look !== "light" && !["now", "fairness", "jobs", "job"].includes(name)) continue;
      await tab.goto(`${server.url}/${hash}`);
      await tab.locator("main[aria-busy=false]").waitFor();
      // The chart of slots is drawn while one looks.
      await tab.waitForTimeout(name === "fairness" ? 20_000 : 2500);
      await tab.screenshot({ path: join(folder, look === "light" ? `${name}.png` : `${name}-${look}.png`) });
    }
    await close();
  }
} finally {
  clearInterval(later);
  await place.end();
}
