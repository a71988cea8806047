// The operator's page in a real browser, against the real program. Run once for each store: STORE=sqlite, STORE=postgres.
//
// Nothing here sleeps and hopes: the tests wait for what the page shows, or for what the server tells.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { Place } from "./place.mjs";

const store = process.env.STORE ?? "sqlite";
const place = new Place(store);
const FIXED = join(place.folder, "fixed");
const PAYLOAD = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1">`;
const token = () => randomBytes(24).toString("base64url");
const [ADMIN, ACME, VIEWER] = [token(), token(), token()];
const hash = (text) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

const TASKS = `
[tasks.broken]
command = ["sh", "-c", "echo reading scan; test -e ${FIXED} || (echo no text layer >&2; exit 65)"]
retries = 0
permanent-codes = [65]
[tasks.coded]
command = ["sh", "-c", "echo '::error {args.code} It is as it is.'; exit 65"]
permanent-codes = [65]
[webhooks.nobody]
url = "http://127.0.0.1:9/"
secret = "not shown"
group = "related"
on = ["final"]
[tasks.hostile]
command = ["sh", "-c", "printf '%s\\n' \\"$1\\"; printf '%s\\n' \\"$1\\" >&2; exit 65", "sh", "{args.text}"]
permanent-codes = [65]
[tasks.digits]
command = ["sh", "-c", "echo '{{\\"total\\": 98765432109876543210.5}}'"]
result = "last-line"
[tasks.chatty]
command = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i of the log; done; echo '::progress 40 halfway there'; sleep 60"]
[links]
job = "https://logs.example.org/search?q={id}"
[schedules.nightly]
expression = "0 2 * * *"
task = "sleep"
args = '{"seconds": 0}'
`;
const TOKENS = `
[api]
prefix = "/turnabout"
[tokens.ops]
hash = "${hash(ADMIN)}"
[tokens.acme]
hash = "${hash(ACME)}"
role = "group"
group = "acme"
[tokens.eyes]
hash = "${hash(VIEWER)}"
role = "viewer"
`;

/** Everyone on this machine may do anything; runs jobs. */
let open;
/** On the same store, with tokens and below a prefix; runs none. */
let guarded;

before(async () => {
  open = await place.server(TASKS, "--pool-size", "4", "--name", "runner");
  guarded = await place.server(TOKENS, "--no-executor");
});
after(() => place.end());

/** A test with a page of its own; fails if anything happens in the page that must not. */
function on(name, options, act) {
  test(`${name} (${store})`, async () => {
    const { page, bad, close } = await place.page(options.server?.() ?? open, options);
    try {
      await act(page);
      assert.deepEqual(bad, []);
    } catch (error) {
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name.replaceAll(/\W+/g, "-")}.png`) });
      error.message += `\n${(await page.locator("body").innerText()).slice(0, 3000)}\n${bad.join("\n")}`;
      throw error;
    } finally {
      await close();
    }
  });
}

/** As soon as this address is shown, with what the server tells of it. */
const shown = (page, hash) => page.locator(`main[data-page=${JSON.stringify(hash)}][aria-busy=false]`).waitFor();
const visit = async (page, hash = "", server = open) => {
  await page.goto(`${server.url}/${hash}`);
  await shown(page, hash);
};
const go = async (page, hash) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await shown(page, hash);
};
const press = (page, name) => page.getByRole("button", { name, exact: true }).first().click();
const says = (page, text) => page.getByText(text).first().waitFor();
const answer = (page, name) => page.locator("dialog").getByRole("button", { name, exact: true }).click();

on("a fresh install offers a test job, and shows it run to its end", {}, async (page) => {
  await visit(page);
  await says(page, "Nothing has run here");
  await press(page, "Submit a test job");
  await page.getByLabel("Seconds that each takes").fill("1");
  await answer(page, "Submit");
  await page.waitForURL(/#\/jobs\/[0-9a-f-]{36}$/);
  await page.locator(".jobhead .state.running, .jobhead .state.success").waitFor();
  await page.locator(".jobhead .state.success").waitFor();
  await says(page, "Attempt 1 succeeded");
  assert.equal(await page.locator(".mood").innerText(), "Live");
});

const PAGES = ["", "#/fairness", "#/jobs", "#/failures", "#/tasks", "#/tasks/sleep", "#/groups", "#/groups/test", "#/queues", "#/executors",
  "#/schedules", "#/schedules/nightly", "#/audit"];

for (const [what, options] of [["in light", {}], ["in the dark on a telephone", { width: 390, height: 844, dark: true }]]) {
  on(`every page opens, ${what}, names its controls and fits`, options, async (page) => {
    for (const hash of PAGES) {
      await visit(page, hash);
      await page.locator("main .skeleton").waitFor({ state: "hidden" });
      assert.equal(await page.locator(".banner.bad").count(), 0, hash);
      assert.notEqual((await page.locator("main").innerText()).trim(), "", hash);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${hash} is ${wide} pixels too wide`);
      const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select, a[href]")]
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.title || one.labels?.length))
        .map((one) => one.outerHTML));
      assert.deepEqual(nameless, [], hash);
    }
  });
}

on("a flood is seen live, and who has the slots", {}, async (page) => {
  await visit(page, "#/jobs?q=group%3Aflood%20state%3Awaiting%2Cscheduled%2Crunning");
  await says(page, "No job matches");
  const jobs = Array.from({ length: 40 }, (_, n) => ({ task: "sleep", args: { seconds: 3600 }, group: "flood", subject: `flood ${n}` }));
  const ids = await open.submit(...jobs, { task: "sleep", args: { seconds: 3600 }, group: "quiet" });
  await page.locator(".state.running").first().waitFor();
  await says(page, "40 jobs");
  await go(page, "#/groups");
  await page.getByRole("row", { name: /flood/ }).first().waitFor();
  await go(page, "#/fairness");
  const row = page.getByRole("row", { name: /^flood/ });
  await row.waitFor();
  await go(page, "#/");
  await page.locator(".tile", { hasText: "Ready" }).getByText(/^3\d$/).waitFor();
  await page.locator(".verdict .sentence").waitFor();
  await go(page, `#/jobs/${ids[39]}`);
  await says(page, "Why it waits");
  await page.locator(".reasons").getByText("in line").waitFor();
});

on("jobs are chosen, counted, and cancelled by a button that names their number", {}, async (page) => {
  await visit(page, "#/jobs");
  await page.locator("#filter").fill("group:flood state:waiting");
  await press(page, "Filter");
  await page.waitForURL(/q=group%3Aflood%20state%3Awaiting$/);
  const rows = page.locator("tbody tr");
  await rows.nth(30).waitFor();
  await rows.nth(0).getByRole("checkbox").check();
  await rows.nth(1).getByRole("checkbox").check();
  await says(page, "2 jobs selected");
  await press(page, "Cancel …");
  await says(page, "Cancel 2 jobs?");
  await answer(page, "Leave them");
  await press(page, "Cancel …");
  await answer(page, "Cancel 2 jobs");
  await says(page, "2 jobs were cancelled.");
  // All that match, by the filter.
  await page.getByLabel("Remove group:flood").click();
  // The page is another one now, with a field of its own.
  await page.waitForFunction(() => /** @type {HTMLInputElement | null} */ (document.querySelector("#filter"))?.value === "state:waiting");
  await page.locator("#filter").fill("group:flood");
  await press(page, "Filter");
  await says(page, "40 jobs");
  await page.getByLabel("Select all jobs of this page").check();
  await press(page, "Cancel …");
  await says(page, "Cancel 38 jobs?");
  await answer(page, "Cancel 38 jobs");
  await says(page, "38 jobs were cancelled.");
  for (const { id } of (await open.call("GET", "jobs?group=quiet&state=!cancelled")).jobs) await open.call("POST", `jobs/${id}/cancel`);
});

on("a filter that makes no sense says why", {}, async (page) => {
  await visit(page, "#/jobs?q=state%3Adone");
  await says(page, "is no state");
  await visit(page, "#/jobs?q=age%3Esoon");
  await says(page, "is no length of time");
  await visit(page, `#/jobs?q=${encodeURIComponent('group:"no such group" state:failed age>1h')}`);
  await says(page, "No job matches");
  await press(page, "Show all jobs");
  await page.locator("tbody tr").first().waitFor();
});

on("all jobs that failed are restarted once the cause is mended", {}, async (page) => {
  const ids = await open.submit(...[1, 2, 3].map((scan) => ({ task: "broken", args: { scan }, group: "globex", subject: `scan ${scan}` })));
  for (const id of ids) await open.reaches(id, "failed");
  await visit(page, "#/failures");
  const row = page.getByRole("row", { name: /broken/ });
  await row.getByText("no text layer").waitFor();
  writeFileSync(FIXED, "");
  await row.getByRole("button", { name: "Restart all …" }).click();
  await answer(page, "Restart 3 jobs");
  await says(page, "3 jobs were restarted.");
  for (const id of ids) await open.reaches(id, "success");
  await go(page, "#/jobs?q=task%3Abroken");
  await page.locator("tbody .state.success").nth(2).waitFor();
});

on("of the failures of one task those with one error are restarted", {}, async (page) => {
  const made = await open.submit(...["no-pages", "no-pages", "too-large"].map((code) => ({ task: "coded", args: { code }, group: "globex" })));
  for (const id of made) await open.reaches(id, "failed");
  await visit(page, "#/failures");
  const row = page.getByRole("row", { name: /no-pages/ });
  await row.getByRole("button", { name: "Restart all …" }).click();
  await answer(page, "Restart 2 jobs");
  await says(page, "2 jobs were restarted.");
  for (const id of made) await open.reaches(id, "failed");
  const attempts = await Promise.all(made.map((id) => open.call("GET", `jobs/${id}/attempts`)));
  assert.deepEqual(attempts.map((one) => one.attempts.length), [2, 2, 1]);
  await row.getByRole("link", { name: "Jobs" }).click();
  await page.waitForURL(/code%3Ano-pages|code:no-pages/);
  // Those of the list, not those of the page before.
  const found = page.locator('main[data-page*="no-pages"] tbody tr');
  await found.nth(1).waitFor();
  assert.equal(await found.count(), 2);
});

on("a job shows its children and who was told of it", {}, async (page) => {
  const [parent] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "related", subject: "the parent" });
  const [child] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "related", subject: "the child", parent });
  await open.reaches(child, "success");
  await visit(page, `#/jobs/${parent}`);
  await page.locator(".card", { hasText: "Webhooks told" }).getByText("nobody").waitFor();
  await page.locator(".card", { hasText: "Children" }).getByRole("link", { name: "the child" }).click();
  await page.waitForURL((url) => url.hash.endsWith(child));
  await page.locator(".jobhead", { hasText: "the child" }).waitFor();
  await page.getByRole("link", { name: parent.slice(-12) }).or(page.locator(`a[href="#/jobs/${parent}"]`)).first().click();
  await page.locator(".jobhead", { hasText: "the parent" }).waitFor();
});

on("whoever may only look sees everything and is offered nothing to change", { server: () => guarded, expect: [/status of 401/] }, async (page) => {
  const [id] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "acme", subject: "seen by all" });
  await open.reaches(id, "success");
  await page.goto(`${guarded.url}/turnabout/`);
  await page.getByLabel("Token").fill(VIEWER);
  await press(page, "Sign in");
  await page.locator(".verdict").waitFor();
  for (const hash of ["#/", "#/jobs", `#/jobs/${id}`, "#/fairness", "#/groups", "#/groups/acme", "#/tasks", "#/tasks/sleep", "#/executors", "#/audit", "#/failures", "#/schedules", "#/queues"]) {
    await go(page, hash);
    await page.locator("main .skeleton").waitFor({ state: "hidden" });
    const offers = await page.getByRole("button", { name: /^(Cancel|Restart|Delete|Pause|Resume|Drain|Set |Run now|Run a|Submit|Try)/ }).count();
    assert.equal(offers, 0, hash);
  }
  await go(page, `#/jobs/${id}`);
  await says(page, "seen by all");
});

on("a group is paused, given a weight and resumed, and a job says that it waits for that", {}, async (page) => {
  await visit(page, "#/groups/held%2Fback");
  await press(page, "Pause …");
  await page.getByLabel("Why").fill("they asked for it");
  await answer(page, "Pause held/back");
  await says(page, "held/back is paused.");
  const [id] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "held/back" });
  await go(page, `#/jobs/${id}`);
  await page.locator(".reasons").getByText("group paused").waitFor();
  await press(page, "Resume it");
  await page.locator(".jobhead .state.success").waitFor();
  await go(page, "#/groups/held%2Fback");
  await press(page, "Set weight and limits …");
  await page.getByLabel("Weight").fill("0");
  await answer(page, "Set it");
  await says(page, "From 1 to 1000");
  await page.getByLabel("Weight").fill("7");
  await page.getByLabel("Jobs that run at a time").fill("2");
  await answer(page, "Set it");
  await says(page, "held/back is set.");
  const group = await open.call("GET", "groups/held%2Fback");
  assert.deepEqual([group.weight, group.max_running, group.paused], [7, 2, false]);
});

on("a task is paused and resumed, and limited", {}, async (page) => {
  await visit(page, "#/tasks/digits");
  await press(page, "Pause …");
  await answer(page, "Pause digits");
  await says(page, "yes: no further job is taken");
  await press(page, "Resume");
  await says(page, "digits is resumed.");
  await press(page, "Set a limit …");
  await page.getByLabel("Jobs that run at a time").fill("3");
  await answer(page, "Set it");
  await says(page, "at most 3");
});

on("a task's page tells jobs, items, their rate and failures by state and priority", {}, async (page) => {
  await open.call("PATCH", "groups/counted", { paused: true });
  const one = (priority, items, group) => ({ task: "sleep", args: { seconds: 0 }, priority, items, group });
  const [, , done] = await open.submit(one("high", 3, "counted"), one("high", 4, "counted"), one("low", 120, "test"));
  await open.reaches(done, "success");
  await visit(page, "#/tasks/sleep");
  const cells = (name) => page.getByRole("row", { name }).first().locator("td").allInnerTexts();
  const waiting = page.getByRole("row", { name: /waiting high/ });
  await waiting.waitFor();
  assert.deepEqual((await cells(/waiting high/)).slice(1, 7), ["high", "2", "7", "3.5", "–", "0"]);
  await page.getByRole("row", { name: /success low/ }).waitFor();
  assert.deepEqual((await cells(/success low/)).slice(1, 7), ["low", "1", "120", "120.0", "2.0", "0"]);
  await go(page, "#/tasks");
  await page.getByRole("row", { name: /^sleep/ }).waitFor();
  for (const job of (await open.call("GET", "jobs?group=counted&state=waiting")).jobs) await open.call("POST", `jobs/${job.id}/cancel`);
});

on("a queue is paused with a note, and resumed", {}, async (page) => {
  await visit(page, "#/queues");
  const row = page.getByRole("row", { name: /^default/ });
  await row.getByRole("button", { name: "Pause …" }).click();
  await page.getByLabel("Why").fill("the disk is full");
  await answer(page, "Pause default");
  await row.locator(".mark", { hasText: "paused" }).waitFor();
  const [id] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "patient" });
  await go(page, `#/jobs/${id}`);
  await page.locator(".reasons").getByText("queue paused").waitFor();
  await go(page, "#/queues");
  await row.getByRole("button", { name: "Resume" }).click();
  await says(page, "default is resumed.");
  await open.reaches(id, "success");
});

on("an executor is drained, and takes jobs again", {}, async (page) => {
  await visit(page, "#/executors");
  await press(page, "Drain …");
  await answer(page, "Drain runner");
  await page.locator(".mark", { hasText: "draining" }).waitFor();
  assert.equal((await open.call("GET", "executors")).executors.find((one) => one.name === "runner").draining, true);
  await press(page, "Take jobs again");
  await page.locator(".mark", { hasText: "draining" }).waitFor({ state: "hidden" });
});

on("numbers keep their digits, also in a copy with other arguments", {}, async (page) => {
  const { id } = await open.call("POST", "jobs", '{"task":"digits","group":"exact","args":{"id":123456789012345678901234,"rate":0.1000}}');
  await visit(page, `#/jobs/${id}`);
  await page.locator("pre.json", { hasText: '"id": 123456789012345678901234' }).waitFor();
  await page.locator("pre.json", { hasText: '"rate": 0.1000' }).waitFor();
  await page.locator("pre.json", { hasText: '"total": 98765432109876543210.5' }).waitFor();
  await press(page, "Run a copy …");
  const box = page.getByLabel("Arguments (JSON)");
  assert.match(await box.inputValue(), /123456789012345678901234/);
  await box.fill('{"id": 99999999999999999999999');
  await answer(page, "Submit");
  await says(page, "This is not JSON");
  await box.fill('{"id": 99999999999999999999999}');
  await answer(page, "Submit");
  await page.waitForURL((url) => url.hash.startsWith("#/jobs/") && !url.hash.endsWith(id));
  await page.locator("pre.json", { hasText: '"id": 99999999999999999999999' }).waitFor();
});

on("a running job shows its step and its log, which can be searched, and is cancelled", { expect: [/status of 404/] }, async (page) => {
  const [id] = await open.submit({ task: "chatty", group: "acme", subject: "the secret of acme" });
  await visit(page, `#/jobs/${id}`);
  await says(page, "halfway there");
  await page.locator(".lines li").nth(8).waitFor();
  await page.getByLabel("Search the log").fill("LINE 7");
  await page.locator(".lines mark", { hasText: "line 7" }).waitFor();
  assert.equal(await page.locator(".lines li").count(), 1);
  assert.equal(await page.locator("a.beyond").getAttribute("href"), `https://logs.example.org/search?q=${id}`);
  await press(page, "Cancel …");
  await answer(page, "Cancel the job");
  await page.locator(".jobhead .state.cancelled").waitFor();
  await press(page, "Delete …");
  await answer(page, "Delete the job");
  await says(page, "There is no such job");
});

on("whatever comes from jobs is text", { expect: [/status of 404/] }, async (page) => {
  const group = `<b>bold</b>${PAYLOAD}`;
  const [id, waits] = await open.submit({ task: "hostile", args: { text: PAYLOAD }, subject: PAYLOAD, group, owner: PAYLOAD, meta: { note: PAYLOAD } },
    { task: `${PAYLOAD}`, subject: PAYLOAD, group, queue: PAYLOAD });
  await open.reaches(id, "failed");
  await visit(page, `#/jobs/${id}`);
  await page.locator(".lines li", { hasText: "<script>" }).first().waitFor();
  await page.locator("pre.error", { hasText: "<script>" }).first().waitFor();
  const places = [`#/jobs/${waits}`, "#/", "#/fairness", "#/jobs", `#/jobs?q=${encodeURIComponent(PAYLOAD)}`, "#/failures", "#/tasks", "#/groups",
    `#/groups/${encodeURIComponent(group)}`, `#/tasks/${encodeURIComponent(PAYLOAD)}`, "#/queues", "#/audit"];
  for (const hash of places) {
    await go(page, hash);
    await page.locator("main .skeleton").waitFor({ state: "hidden" });
    assert.equal(await page.evaluate(() => window.pwned), undefined, hash);
    assert.equal(await page.locator("img[src=x], main script, main b b").count(), 0, hash);
  }
  await open.call("POST", `jobs/${waits}/cancel`);
});

on("a schedule is paused with a note, resumed and run now", {}, async (page) => {
  await visit(page, "#/schedules");
  await page.getByRole("row", { name: /nightly/ }).getByRole("button", { name: "Pause …" }).click();
  await page.getByLabel("Why").fill("holidays");
  await answer(page, "Pause nightly");
  await says(page, "nightly is paused.");
  await page.getByRole("link", { name: "nightly" }).click();
  await says(page, "holidays");
  await press(page, "Resume");
  await says(page, "goes on from its next time");
  await press(page, "Run now");
  await page.waitForURL(/#\/jobs\//);
  await page.locator(".jobhead .state.success").waitFor();
});

on("one signs in with a token that stands in no address", { server: () => guarded, expect: [/status of 401/] }, async (page) => {
  const seen = [];
  page.on("request", (request) => seen.push(request.url()));
  await page.goto(`${guarded.url}/turnabout/`);
  await page.getByLabel("Token").fill("wrong");
  await press(page, "Sign in");
  await says(page, "The token is not known");
  await page.getByLabel("Token").fill(ADMIN);
  await press(page, "Sign in");
  await page.locator(".verdict").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("turnabout.token")), ADMIN);
  assert.equal(await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage })), "{}");
  await page.reload();
  await page.locator(".verdict").waitFor();
  assert.ok(seen.every((url) => !url.includes(ADMIN)) && !page.url().includes(ADMIN));
  await press(page, "Sign out");
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

on("whoever has a group's token sees nothing of others, whatever address they guess", { server: () => guarded, expect: [/status of (401|403|404)/] }, async (page) => {
  const [foreign] = await open.submit({ task: "sleep", args: { seconds: 0 }, group: "globex", subject: "the secret of globex" });
  await open.submit({ task: "sleep", args: { seconds: 0 }, group: "acme", subject: "a job of acme" });
  await page.goto(`${guarded.url}/turnabout/`);
  await page.getByLabel("Token").fill(ACME);
  await press(page, "Sign in");
  await page.waitForURL(/#\/groups\/acme$/);
  await says(page, "a job of acme");
  assert.deepEqual(await page.locator("nav[aria-label=Pages] a").allInnerTexts(), ["Jobs", "Failures", "Groups", "Schedules"]);
  for (const hash of ["#/now", ...PAGES.slice(1), `#/jobs/${foreign}`, "#/groups/globex", "#/jobs?q=group%3Aglobex", "#/tasks/broken"]) {
    await go(page, hash);
    await page.locator("main .skeleton").waitFor({ state: "hidden" });
    const text = await page.locator("main").innerText();
    for (const secret of ["globex", "broken", "flood", "runner", "nightly"]) {
      assert.ok(!text.includes(secret) || hash.includes(secret) && !text.includes("the secret"), `${hash} tells of ${secret}: ${text}`);
    }
  }
});

on("the page goes on when the server is started again", { expect: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/] }, async (page) => {
  await visit(page, "#/jobs?q=group%3Aagain");
  await page.locator(".mood.live").waitFor();
  await open.stop();
  await page.locator(".mood.offline").waitFor();
  await says(page, "The server does not answer");
  await open.start();
  await page.locator(".mood.live").waitFor({ timeout: 30_000 });
  await open.submit({ task: "sleep", args: { seconds: 0 }, group: "again", subject: "after the restart" });
  await says(page, "after the restart");
  assert.equal(await page.locator(".banner.bad").count(), 0);
});

on("the keyboard reaches every page and the search", {}, async (page) => {
  await visit(page);
  await page.keyboard.press("g");
  await page.keyboard.press("x");
  await page.waitForURL(/#\/executors$/);
  await page.keyboard.press("/");
  await page.keyboard.type("group:again");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/jobs\?q=group%3Aagain$/);
  await says(page, "after the restart");
  await page.locator("main").focus();
  await page.keyboard.press("?");
  await says(page, "Keyboard");
});

test(`the page is small, and changes are noticed by its tags (${store})`, async () => {
  const folder = new URL("../../dashboard/", import.meta.url).pathname;
  const files = readdirSync(folder, { recursive: true }).filter((name) => /\.(js|css|html|svg)$/.test(name));
  const size = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
  assert.ok(size <= 80_000, `${size} bytes`);
  for (const name of files) {
    const path = name === "index.html" ? "/" : `/dashboard/${name}`;
    const first = await fetch(`${open.url}${path}`);
    assert.equal(first.status, 200, path);
    assert.equal(await first.text(), readFileSync(join(folder, name), "utf8"), path);
    assert.match(first.headers.get("content-security-policy"), /default-src 'self'/);
    assert.doesNotMatch(first.headers.get("content-security-policy"), /unsafe/);
    const again = await fetch(`${open.url}${path}`, { headers: { "if-none-match": first.headers.get("etag") } });
    assert.equal(again.status, 304, path);
  }
});
