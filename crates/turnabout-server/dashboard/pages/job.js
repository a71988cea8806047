// One job: what it is, why it waits and until when, how far it is, what it writes, and what became of each attempt.

import { h, redraw } from "../view.js";
import { Problem, get, maybe, part, send, text } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { members, pretty } from "../json.js";
import { ago, at, brief, count, duration, exactly, moment, since, until } from "../format.js";
import { mayCancel, mayChange, mayOperate, maySubmit, now, seesAll } from "../session.js";
import { term } from "../filter.js";
import { beyond, button, card, copy, empty, facts, link, mark, progress, prose, state, to } from "../parts.js";
import { log as logOf } from "./log.js";
import { copyOf } from "./submit.js";

/** @typedef {import("../types").Job} Job */
/** @typedef {import("../view.js").Kid} Kid */

/** So many children are shown; the rest are a list of their own. */
const CHILDREN = 50;
/** Jobs of the server's own that tell webhooks. */
const WEBHOOK = "webhook:";
const ENDED = ["success", "failed", "cancelled"];

/** @param {string} id @returns {import("../app.js").Page} */
export function job(id) {
  /** @type {Job | null} */
  let job = null;
  let gone = false;
  /** As they were written. */
  let [args, result] = ["", ""];
  /** @type {import("../types").Explained | null} */
  let why = null;
  /** @type {import("../types").Attempt[]} */
  let attempts = [];
  /** Jobs that name this one as their parent: those that it made, and those that told of it. @type {import("../types").JobPage | null} */
  let children = null;
  /** @type {import("../types").Executor[]} */
  let executors = [];
  const log = logOf(id);
  const path = `jobs/${part(id)}`;

  const look = async (/** @type {AbortSignal} */ signal) => {
    let written;
    try {
      written = await text(path, signal);
    } catch (error) {
      if (!(error instanceof Problem) || (error.status !== 404 && error.status !== 400)) throw error;
      gone = true;
      job = null;
      return;
    }
    gone = false;
    const parts = members(written);
    [args, result] = [parts.get("args") ?? "null", parts.get("result") ?? "null"];
    const was = job;
    job = /** @type {Job} */ (JSON.parse(written));
    if (was && was.state !== job.state) log.wake();
    redraw();
    const ended = ENDED.includes(job.state);
    [why, attempts, children] = await Promise.all([
      ended ? null : maybe(`${path}/explain`, {}, signal),
      get(`${path}/attempts`, {}, signal).then((all) => all.attempts),
      get("jobs", { parent: id, limit: CHILDREN }, signal),
    ]);
    if (seesAll() && executors.length === 0 && (job.executor || attempts.length > 0)) executors = (await maybe("executors", {}, signal))?.executors ?? [];
  };
  const again = () => void look(new AbortController().signal).then(redraw, () => {});
  const executor = (/** @type {string} */ which) => executors.find((one) => one.id === which)?.name ?? brief(which);

  const act = async (/** @type {string} */ method, /** @type {string} */ rest, /** @type {unknown} */ body, /** @type {string} */ good) => {
    await attempt(() => send(method, `${path}${rest}`, body), good);
    again();
  };
  const actions = (/** @type {Job} */ job) => {
    const ended = ENDED.includes(job.state);
    const waits = job.state === "waiting" || job.state === "stuck";
    return mayChange() && h("div", { class: "actions" },
      !ended && mayCancel() && button("Cancel …", async () => {
        if (await ask({ title: "Cancel this job?", text: job.state === "running" ? "It runs: it is told to stop, and will end cancelled." : "It will not run.", confirm: "Cancel the job", refuse: "Leave it", danger: true })) {
          await act("POST", "/cancel", undefined, "The job is cancelled, or will be in a moment.");
        }
      }, { kind: "danger", disabled: job.cancelling }),
      ended && maySubmit() && button("Restart …", async () => {
        if (await ask({ title: "Restart this job?", text: "It waits again, with its counters reset, and takes its turn.", confirm: "Restart the job", refuse: "Leave it" })) {
          await act("POST", "/restart", undefined, "The job waits again.");
        }
      }, { kind: "primary" }),
      waits && job.due && maySubmit() && button("Try now", () => void act("POST", "/retry", undefined, "The job is ready."), { kind: "primary" }),
      waits && maySubmit() && h("select", { "aria-label": "Priority", onchange: (/** @type {Event} */ event) => {
        const priority = /** @type {HTMLSelectElement} */ (event.target).value;
        void act("PUT", "/priority", { priority }, `Its priority is ${priority} now.`);
      } }, ["high", "normal", "low"].map((one) => h("option", { value: one, selected: one === job.priority }, `${one} priority`))),
      maySubmit() && button("Run a copy …", () => void copyOf(id)),
      ended && mayCancel() && button("Delete …", async () => {
        if (await ask({ title: "Delete this job?", text: "It is gone then, with its log and its result.", confirm: "Delete the job", refuse: "Keep it", danger: true })) {
          await act("DELETE", "", undefined, "The job is deleted.");
        }
      }));
  };

  const head = (/** @type {Job} */ job) => h("section", { class: "jobhead" },
    h("div", { class: "names" },
      h("div", { class: "line" }, state(job), h("h2", null, link(to.task(job.task), job.task)), job.subject && h("span", { class: "subject" }, job.subject)),
      h("div", { class: "line muted" }, h("span", null, "of ", link(to.group(job.group), job.group), job.owner && [" / ", link(to.jobs(`${term("group", job.group)} ${term("owner", job.owner)}`), job.owner)]),
        h("code", null, id), copy(id, "the id"),
        beyond("job", { id, task: job.task, group: job.group, owner: job.owner }, "More about this job"),
        beyond("trace", { trace: (job.meta.traceparent ?? "").split("-")[1], id }, "Trace"))),
    actions(job));

  const reasons = (/** @type {import("../types").Explained} */ why, /** @type {Job} */ job) => {
    /** @type {Kid[]} */
    const found = [];
    const resume = (/** @type {string} */ kind, /** @type {string} */ name = "") => mayOperate() && button("Resume it", async () => {
      await attempt(() => send("PATCH", name ? `${kind}/${part(name)}` : kind, { paused: false }), `${name || "Everything"} is resumed.`);
      again();
    }, { kind: "small" });
    if (why.all_paused) found.push([mark("warning", "everything paused"), link("#/queues", "queues"), resume("settings")]);
    if (why.queue_paused) found.push([mark("warning", "queue paused"), link("#/queues", job.queue), resume("queues", job.queue)]);
    if (why.group_paused) found.push([mark("warning", "group paused"), link(to.group(job.group), job.group), resume("groups", job.group)]);
    if (why.task_paused) found.push([mark("warning", "task paused"), link(to.task(job.task), job.task), resume("tasks", job.task)]);
    if (why.group_full) found.push([mark("notice", "group at its limit"), "Raise it: ", link(to.group(job.group), job.group)]);
    if (why.task_full) found.push([mark("notice", "task at its limit"), "Raise it: ", link(to.task(job.task), job.task)]);
    if (!why.known) found.push([mark("critical", "nobody can run it"), "Start an executor for queue ", h("code", null, job.queue), " that knows ", h("code", null, job.task), ": ", link("#/executors", "executors")]);
    if (why.silent !== null) found.push([mark("critical", "executors silent"), `for ${duration(why.silent * 1000)}: `, link("#/executors", "executors")]);
    if (why.taken_by && why.taken_by.length > 0) {
      found.push([mark("notice", "slots taken"), `all ${count(why.slots ?? 0)}: `, why.taken_by.map((one, n) => [n > 0 && ", ", one.group === null ? "others" : link(to.group(one.group), one.group), ` ${count(one.jobs)}`])]);
    }
    if (why.place !== null) found.push([mark("notice", "in line"), `place ${count(why.place)} in its group; ${count(why.groups)} ${why.groups === 1 ? "group takes" : "groups take"} turns`]);
    return found;
  };
  const predicted = (/** @type {import("../types").Explained} */ why) => why.predicted && h("div", { class: "predicted" },
    h("span", { class: "big" }, Date.parse(why.predicted.earliest) <= now() ? "Starts now" : ["Starts in ", duration(Date.parse(why.predicted.earliest) - now())],
      why.predicted.latest && Date.parse(why.predicted.latest) > now() ? ` to ${duration(Date.parse(why.predicted.latest) - now())}` : ""),
    h("small", { title: [why.predicted.earliest, why.predicted.latest].filter((time) => time !== null).map(exactly).join("\n – ") },
      `${moment(why.predicted.earliest)}${why.predicted.latest ? ` to ${moment(why.predicted.latest)}` : ""}; ${why.predicted.basis}`));
  const waiting = (/** @type {Job} */ job) => {
    if (!why || ["running", ...ENDED].includes(job.state)) return null;
    const said = why.text.replace(`Job ${id} is`, "It is");
    return card("Why it waits", [
      h("p", { class: "sentence" }, h("span", null, prose(why.predicted ? said.replace(/ It will start between .*$/s, "") : said))), predicted(why),
      h("ul", { class: "reasons" }, reasons(why, job).map((reason) => h("li", null, reason)))], null, "why");
  };

  const running = (/** @type {Job} */ job) => job.state === "running" && card("Progress", h("div", { class: "doing" },
    progress(job.progress, `${job.progress} %`), h("strong", null, `${job.progress} %`),
    h("span", null, job.step ?? ""), h("small", null, `for ${duration(since(job.started))}`, job.executor ? ` on ${executor(job.executor)}` : "")));

  const failed = (/** @type {Job} */ job) => job.error && card(job.state === "failed" ? "Why it failed" : job.state === "success" ? `Last error, of attempt ${job.attempts - 1}` : "Its last error", [
    (job.error_message || job.error_code) && h("p", { class: "sentence" }, job.error_code && mark("critical", job.error_code), job.error_message),
    h("pre", { class: "error" }, job.error)], job.due && job.state === "stuck" ? ["tried again ", until(job.due)] : null);

  /** What happened, and what passed in between. @param {Job} job */
  const line = (job) => {
    /** @type {{ time: string, what: Kid, kind: string, then?: Kid }[]} */
    const steps = [{ time: job.submitted, what: "Submitted", kind: "past" }];
    let before = job.submitted;
    for (const one of attempts) {
      const last = steps[steps.length - 1];
      if (last) last.then = `waited ${duration(Date.parse(one.started) - Date.parse(before))}`;
      steps.push({ time: one.started, kind: "start", what: [`Attempt ${one.number} started on `, executor(one.executor)] });
      if (one.ended) {
        const started = steps[steps.length - 1];
        if (started) started.then = `ran ${duration(Date.parse(one.ended) - Date.parse(one.started))}`;
        steps.push({ time: one.ended, kind: one.reason ? "bad" : "good", what: one.reason ? [`Attempt ${one.number}: ${one.reason}`, one.error_code && h("code", null, one.error_code)] : `Attempt ${one.number} succeeded` });
        before = one.ended;
      }
    }
    if (job.finished) {
      steps.push({ time: job.finished, kind: job.state === "success" ? "good" : "bad", what: ["Ended: ", job.state, job.reason ? ` (${job.reason})` : ""] });
    } else {
      const last = steps[steps.length - 1];
      if (last) last.then = job.state === "running" ? `runs for ${duration(since(job.started))}` : job.state === "scheduled" ? "in an executor's hands" : `waits for ${duration(since(before))}`;
      if (job.due) steps.push({ time: job.due, kind: "future", what: job.state === "stuck" ? "Tried again" : "Due" });
      else if (why?.predicted) steps.push({ time: why.predicted.earliest, kind: "future", what: "Starts at the earliest (predicted)" });
      if (job.expires) steps.push({ time: job.expires, kind: "future", what: "Expires unless started" });
    }
    return card("Time line", h("ol", { class: "timeline" }, steps.map((step) =>
      h("li", { class: step.kind }, h("span", { class: "what" }, step.what), at(step.time), step.then && h("small", null, step.then)))));
  };

  const tries = () => attempts.length > 0 && card("Attempts", h("ul", { class: "attempts" }, [...attempts].reverse().map((one) =>
    h("li", { key: `${one.number} ${one.started}` },
      h("div", null, h("strong", null, `Attempt ${one.number}`), at(one.started), h("span", null, one.ended ? duration(Date.parse(one.ended) - Date.parse(one.started)) : "runs"),
        h("span", { class: "muted" }, executor(one.executor)), one.ended ? mark(one.reason ? "critical" : "good", one.reason ?? "success") : mark("notice", "running")),
      one.error_message && h("p", null, one.error_message), one.error && h("pre", { class: "error" }, one.error)))));

  const related = (/** @type {string} */ title, /** @type {Job[]} */ jobs, /** @type {(job: Job) => Kid} */ what) => jobs.length > 0 && card(title,
    h("ul", { class: "related" }, jobs.map((one) => h("li", { key: one.id }, state(one), link(to.job(one.id), what(one)), at(one.finished ?? one.submitted),
      one.state !== "success" && one.attempts > 1 && h("small", null, `${count(one.attempts)} attempts`),
      (one.error_message ?? one.error) && h("small", { class: "error" }, one.error_message ?? one.error)))),
    children?.next ? link(to.jobs(term("parent", id)), "all of them") : null);
  const kin = () => {
    const all = children?.jobs ?? [];
    const tells = (/** @type {Job} */ one) => one.group === "webhooks" && one.task.startsWith(WEBHOOK);
    return [
      related("Children", all.filter((one) => !tells(one)), (one) => [h("strong", null, one.task), " ", one.subject ?? brief(one.id)]),
      related("Webhooks told", all.filter(tells), (one) => [h("strong", null, one.task.slice(WEBHOOK.length)), " ", (one.subject ?? "").split(" ")[0] ?? ""]),
    ];
  };

  const json = (/** @type {string} */ name, /** @type {string} */ raw) => h("details", { key: name, open: raw.length < 600 },
    h("summary", null, name, h("small", null, `${count(raw.length)} characters`), copy(raw, name.toLowerCase())), h("pre", { class: "json" }, pretty(raw)));

  const view = () => {
    if (gone) return empty("There is no such job", "It was deleted, its time in the history is over, or it never was. Ids are written in full.", link("#/jobs", "All jobs"));
    if (!job) return h("div", { class: "skeleton" });
    return [
      head(job),
      h("div", { class: "columns" },
        h("div", null, waiting(job), running(job), failed(job),
          card("Log", log.view()), tries()),
        h("div", null, line(job),
          card("Facts", facts([
            ["Priority", job.priority],
            ["Queue", link(to.jobs(term("queue", job.queue)), job.queue)],
            ["Submitted", ago(job.submitted)],
            ["Items", count(job.items)],
            ["Attempts", [count(job.attempts), job.losses > 0 && `, lost ${count(job.losses)} times`, job.interruptions > 0 && `, interrupted ${count(job.interruptions)} times`]],
            job.executor ? ["Executor", executor(job.executor)] : null,
            job.unique ? ["Unique key", h("code", null, job.unique)] : null,
            job.parent ? ["Parent", link(to.job(job.parent), brief(job.parent))] : null,
            ...Object.entries(job.meta).map(([name, value]) => /** @type {[string, Kid]} */ ([name, h("code", null, value)])),
          ])),
          kin(),
          card("Data", [json("Arguments", args), job.state === "success" && result !== "null" && json("Result", result)]))),
    ];
  };
  return {
    title: "Job",
    interest: { ids: id },
    look,
    told(told) {
      if (!job || told.id !== id) return;
      if (told.state !== job.state) log.wake();
      Object.assign(job, told);
      redraw();
    },
    view,
    stop: log.stop,
  };
}
