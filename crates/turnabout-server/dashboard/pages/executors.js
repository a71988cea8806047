// Executors: who runs jobs, which ones, since when they were last heard of; and draining one before it is stopped.

import { h } from "../view.js";
import { get, maybe, part, send } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { ago, brief, count, duration, many, since } from "../format.js";
import { mayOperate } from "../session.js";
import { absent, beyond, button, empty, facts, link, mark, progress, slots, state, to } from "../parts.js";

/** Heartbeats come every 5 seconds; one that is late by so much is worth a look. */
const LATE = 15_000;

/** @returns {import("../app.js").Page} */
export function executors() {
  /** @type {import("../types").Executor[] | null | undefined} */
  let all;
  /** @type {import("../types").Job[]} */
  let held = [];
  const look = async (/** @type {AbortSignal} */ signal) => {
    const answer = await maybe("executors", {}, signal);
    all = answer === null ? null : answer.executors;
    if (all && all.length > 0) held = (await get("jobs", { state: "running,scheduled", limit: 500 }, signal)).jobs;
  };
  const again = () => void look(new AbortController().signal).catch(() => {});
  const drain = async (/** @type {import("../types").Executor} */ one) => {
    const on = !one.draining;
    if (on && !(await ask({ title: `Drain ${one.name}?`, text: `It takes no more jobs from its next heartbeat on, and finishes the ${count(one.held)} that it has in hand. Others go on.`, confirm: `Drain ${one.name}`, refuse: "Leave it" }))) return;
    await attempt(() => send("POST", `executors/${part(one.id)}/drain`, { drain: on }), on ? `${one.name} takes no more jobs.` : `${one.name} takes jobs again.`);
    again();
  };
  const view = () => {
    if (all === undefined) return h("div", { class: "skeleton" });
    if (all === null) return absent("Executors");
    if (all.length === 0) return empty("No executor is running", ["Jobs wait until one starts: ", h("code", null, "turnabout serve"), ", ", h("code", null, "turnabout executor"), ", or a program of yours."]);
    return h("div", { class: "cards" }, all.map((one) => {
      const mine = held.filter((job) => job.executor === one.id);
      const silent = (since(one.seen) ?? 0) > LATE;
      return h("section", { class: silent ? "card bad" : "card", key: one.id, "aria-label": one.name },
        h("header", null, h("h2", null, one.name), one.draining && mark("warning", "draining"), silent && mark("critical", "silent", "no heartbeat: it may be gone"),
          h("div", { class: "beside" }, beyond("executor", { name: one.name, id: one.id }, "More"), mayOperate() && button(one.draining ? "Take jobs again" : "Drain …", () => void drain(one), { kind: "small" }))),
        h("div", { class: "line" }, slots(one.held, one.slots), h("span", null, `${count(one.held)} of ${many(one.slots, "slot")}`)),
        facts([
          ["Last heartbeat", ago(one.seen)],
          ["Version", one.version],
          ["Queues", one.queues.join(", ")],
          ["Tasks", h("details", null, h("summary", null, many(one.tasks.length, "task")), one.tasks.map((name, n) => [n > 0 && ", ", link(to.task(name), name)]))],
          ["Id", h("code", null, one.id)],
        ]),
        mine.length > 0 && h("ul", { class: "children" }, mine.slice(0, 20).map((job) => h("li", { key: job.id }, state(job), link(to.job(job.id), h("strong", null, job.task), " ", job.subject ?? h("span", { class: "mono" }, brief(job.id))),
          h("span", { class: "muted" }, job.group), job.state === "running" && progress(job.progress, `${job.progress} %`), h("span", { class: "muted" }, duration(since(job.started)))))),
        mine.length > 20 && h("p", { class: "muted" }, `and ${count(mine.length - 20)} more`));
    }));
  };
  return { title: "Executors", interest: null, look, view };
}
