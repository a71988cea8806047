// Now: whether all is well in a sentence, the numbers that matter, and the last hour.

import { h } from "../view.js";
import { get, maybe } from "../api.js";
import { chart, spark } from "../charts.js";
import { sentence } from "../dialog.js";
import { ago, count, duration, many, percent, rate } from "../format.js";
import { maySubmit, now as present } from "../session.js";
import { button, card, empty, icon, inside, link, mark, prose, share, slots, to } from "../parts.js";
import { testJobs } from "./submit.js";

/** @typedef {import("../types").Trend} Trend */

/** What this page has seen itself, for servers that do not keep the last hour. @type {Trend[]} */
const seen = [];
const HOUR = 3_600_000;
/** The verdict and the last hour change slowly. */
const SLOW = 4000;

/** @returns {import("../app.js").Page} */
export function now() {
  /** @type {import("../types").Doctor | null} */
  let doctor = null;
  /** @type {import("../types").Trends | null} */
  let trends = null;
  /** @type {import("../types").Summary | null} */
  let summary = null;
  /** @type {import("../types").Executor[]} */
  let executors = [];
  /** @type {import("../types").Shares | null} */
  let shares = null;
  let looked = -SLOW - 1;

  const look = async (/** @type {AbortSignal} */ signal) => {
    const due = performance.now() - looked > SLOW;
    const [three, four, five] = await Promise.all([
      get("summary", {}, signal), maybe("executors", {}, signal),
      maybe("shares", { minutes: 10, limit: 6 }, signal),
    ]);
    [summary, shares] = [three, five];
    executors = four?.executors ?? [];
    if (due) {
      [doctor, trends] = await Promise.all([maybe("doctor", {}, signal), maybe("trends", {}, signal)]);
      looked = performance.now();
    }
    if (!trends) remember();
  };

  const jobsIn = (/** @type {(sum: import("../types").TaskSum) => boolean} */ which) =>
    (summary?.tasks ?? []).filter(which).reduce((all, sum) => all + (sum.in_window ?? sum.jobs), 0);
  const allSlots = () => executors.filter((one) => !one.draining).reduce((all, one) => all + one.slots, 0);

  function remember() {
    const running = jobsIn((sum) => sum.state === "running" || sum.state === "scheduled");
    const per = summary?.rate ?? { seconds: 60, success: 0, failed: 0, cancelled: 0, submitted: 0 };
    const ended = (per.success + per.failed + per.cancelled) / per.seconds;
    seen.push({ at: new Date(present()).toISOString(), ready: jobsIn((sum) => sum.state === "waiting"), running,
      slots: allSlots(), started: ended, ended, failed: per.failed / per.seconds });
    while (seen.length > 1800) seen.shift();
  }

  const points = () => {
    const step = trends?.step_seconds ?? 1;
    return (trends?.points ?? seen).map((p) => ({ ...p, started: p.started / step, ended: p.ended / step, failed: p.failed / step }));
  };

  const verdict = () => {
    const worst = doctor?.findings.find((one) => one.severity === "critical") ? "critical"
      : doctor?.findings.find((one) => one.severity === "warning") ? "warning" : "good";
    const text = doctor?.verdict ?? (executors.length === 0 ? "No executor is running: jobs wait until one starts."
      : `${many(executors.length, "executor")} with ${many(allSlots(), "slot")}; ${count(jobsIn((sum) => sum.state === "failed"))} jobs failed in the last hour.`);
    const kind = doctor ? worst : executors.length === 0 ? "warning" : "good";
    return h("section", { class: `verdict ${kind}`, "aria-label": "Verdict" },
      h("p", { class: "sentence" }, icon(kind === "good" ? "good" : "failures"), h("span", null, prose(sentence(text)))),
      doctor && doctor.findings.length > 0 && h("ul", null, doctor.findings.map((one) => h("li", { key: `${one.code} ${one.what}` },
        h("div", null, mark(one.severity, one.severity), one.what !== doctor?.verdict && h("strong", null, prose(sentence(one.what))), one.link && inside(one.link) && link(inside(one.link) ?? "", "Show")),
        h("p", null, prose(sentence(one.evidence)), one.mend && h("span", { class: "mend" }, prose(one.mend)))))));
  };

  const tile = (/** @type {string} */ name, /** @type {import("../view.js").Kid} */ value, /** @type {import("../view.js").Kid} */ below,
    /** @type {import("../view.js").Kid} */ line, kind = "") =>
    h("div", { class: `tile ${kind}`, key: name }, h("h2", null, name), h("div", { class: "value" }, value), h("div", { class: "below" }, below), line);

  const tiles = () => {
    const line = points();
    const last = line[line.length - 1];
    const all = allSlots();
    // Executors take some jobs ahead, so that a slot is never free for long: these have none yet.
    const held = executors.filter((one) => !one.draining).reduce((sum, one) => sum + one.held, 0);
    const used = Math.min(held, all);
    const ready = trends && last ? last.ready : jobsIn((sum) => sum.state === "waiting");
    const stuck = jobsIn((sum) => sum.state === "stuck");
    const oldest = shares?.oldest;
    const first = (summary?.tasks ?? []).filter((sum) => sum.state === "waiting" && sum.oldest)
      .map((sum) => sum.oldest).sort()[0];
    const recent = (/** @type {"started" | "ended" | "failed"} */ what) => {
      const some = line.slice(trends ? -6 : -1);
      return some.reduce((sum, p) => sum + p[what], 0) / Math.max(1, some.length);
    };
    return h("div", { class: "tiles" },
      tile("Slots", [count(used), h("small", null, ` of ${count(all)}`)], [slots(used, all), held > all && h("small", null, ` and ${many(held - all, "job")} taken ahead`)], null),
      tile("Ready", link(to.jobs("state:waiting"), count(ready)), stuck > 0 ? link(to.jobs("state:stuck"), `${count(stuck)} stuck`) : "jobs that could start", spark(line.map((p) => p.ready), "c-ready")),
      tile("Oldest ready", oldest ? duration(oldest.ready_ms) : !shares && first ? duration(present() - Date.parse(first)) : "–",
        oldest ? ["of ", link(to.group(oldest.group), oldest.group)] : "since it was submitted", null),
      tile("Started", [rate(recent("started")), h("small", null, "/s")], "over the last minute", spark(line.map((p) => p.started), "c-started")),
      tile("Ended", [rate(recent("ended")), h("small", null, "/s")], "over the last minute", spark(line.map((p) => p.ended), "c-ended")),
      tile("Failed", [rate(recent("failed")), h("small", null, "/s")], link(to.jobs("state:failed"), `${count(jobsIn((sum) => sum.state === "failed"))} in the last hour`),
        spark(line.map((p) => p.failed), "c-failed"), recent("failed") > 0 ? "bad" : ""));
  };

  const hour = () => {
    const line = points();
    const last = line.length > 0 ? Date.parse(/** @type {Trend} */ (line[line.length - 1]).at) : present();
    const from = trends ? Math.max(last - HOUR, Date.parse(line[0]?.at ?? new Date(last).toISOString())) : undefined;
    const given = { ...(from === undefined ? {} : { from }), to: last };
    const places = (/** @type {(p: Trend) => number[]} */ values) => line.map((p) => ({ at: Date.parse(p.at), values: values(p) }));
    return h("div", { class: "pair" },
      card("Jobs, last hour", chart({ id: "backlog", name: "Ready and running jobs", points: places((p) => [p.ready, p.running, p.slots]),
        series: [{ name: "ready", color: "c-ready", area: true }, { name: "running", color: "c-running" }, { name: "slots", color: "c-slots", dashed: true }],
        format: count, least: 4, ...given })),
      card("Per second, last hour", chart({ id: "rates", name: "Jobs a second", points: places((p) => [p.started, p.ended, p.failed]),
        series: [{ name: "started", color: "c-started" }, { name: "ended", color: "c-ended" }, { name: "failed", color: "c-failed", area: true }],
        format: rate, ...given })));
  };

  const who = () => shares && shares.groups.length > 0 && card("Who has the slots, last 10 minutes",
    h("ul", { class: "who" }, shares.groups.map((one) => h("li", { key: one.group },
      link(to.group(one.group), one.group),
      share(one.used, one.entitled, one.noisy ? "noisy" : one.harmed ? "harmed" : "", Math.max(...(shares?.groups ?? []).map((g) => Math.max(g.used, g.entitled)), 0.01)),
      h("span", { class: "num" }, percent(one.used)), h("small", null, `of ${percent(one.entitled)}`)))),
    link("#/fairness", "All groups"));

  const work = () => {
    /** @type {Map<string, { task: string, waiting: number, running: number, stuck: number, failed: number, oldest: string | null }>} */
    const tasks = new Map();
    for (const sum of summary?.tasks ?? []) {
      const one = tasks.get(sum.task) ?? { task: sum.task, waiting: 0, running: 0, stuck: 0, failed: 0, oldest: null };
      if (sum.state === "waiting") one.waiting += sum.jobs;
      else if (sum.state === "running" || sum.state === "scheduled") one.running += sum.jobs;
      else if (sum.state === "stuck") one.stuck += sum.jobs;
      else if (sum.state === "failed") one.failed += sum.in_window ?? sum.jobs;
      if (sum.oldest && !["success", "failed", "cancelled"].includes(sum.state) && (!one.oldest || sum.oldest < one.oldest)) one.oldest = sum.oldest;
      tasks.set(sum.task, one);
    }
    const rows = [...tasks.values()].sort((a, b) => b.waiting + b.running + b.stuck - a.waiting - a.running - a.stuck).slice(0, 6);
    return rows.length > 0 && card("Busiest tasks", h("table", { class: "plain" },
      h("thead", null, h("tr", null, ["Task", "Waiting", "Running", "Stuck", "Failed", "Oldest"].map((name, n) =>
        h("th", { scope: "col", class: n > 0 ? "num" : "" }, name)))),
      h("tbody", null, rows.map((row) => h("tr", { key: row.task }, h("td", null, link(to.task(row.task), row.task)),
        h("td", { class: "num" }, count(row.waiting)), h("td", { class: "num" }, count(row.running)), h("td", { class: "num" }, count(row.stuck)),
        h("td", { class: row.failed > 0 ? "num bad" : "num" }, row.failed > 0 ? link(to.jobs(`state:failed task:${row.task}`), count(row.failed)) : "0"),
        h("td", { class: "num" }, ago(row.oldest)))))), link("#/tasks", "All tasks"));
  };

  return {
    title: "Now",
    interest: null,
    look,
    view() {
      if (!summary) return h("div", { class: "skeleton" });
      const fresh = summary.tasks.length === 0 && summary.rate.submitted === 0;
      return [
        verdict(),
        fresh && empty("Nothing has run here in the last hour",
          ["Submit a test job and watch it run. From a program: ", h("code", null, "POST /api/v1/jobs"), ", or ",
            h("code", null, "turnabout submit sleep '{\"seconds\": 5}'"), "."],
          maySubmit() && button("Submit a test job", () => void testJobs(), { kind: "primary", icon: "play" }),
          h("a", { class: "button", href: "api/docs" }, "Read the API")),
        tiles(),
        hour(),
        h("div", { class: "pair" }, who(), work()),
      ];
    },
  };
}
