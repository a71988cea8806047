// One task: its jobs by priority and state, what its code says, and what operators have set beside that.

import { h } from "../view.js";
import { get, maybe, part, send } from "../api.js";
import { ask, attempt, changed } from "../dialog.js";
import { term } from "../filter.js";
import { age, ago, count, duration, kept, rate } from "../format.js";
import { maySubmit, mayOperate } from "../session.js";
import { beyond, button, card, empty, facts, link, mark, state, to } from "../parts.js";
import { newJob, testJobs } from "./submit.js";

/** A limit, or none. @param {string} value */
export const limit = (value) => (/^[1-9]\d{0,8}$/.test(value) ? null : "A whole number from 1, or nothing at all. To stop jobs, pause.");

/** Asks what is to be set for a task. @param {import("../types").Task} task @param {() => void} after */
export async function edit(task, after) {
  const said = await ask({
    title: `What is set for ${task.task}`,
    text: "It acts at once, also on jobs that wait already, and outlives the server. The configuration file goes before it.",
    confirm: "Set it",
    fields: [
      { name: "max", label: "Jobs that run at a time, at the most", type: "text", value: task.max_running === null ? "" : String(task.max_running),
        placeholder: "no limit", check: limit, hint: "Over all executors and groups. Empty: as many as there are slots." },
      { name: "paused", label: "Jobs are taken", type: "select", value: String(task.paused), options: [["false", "yes"], ["true", "no: paused"]] },
    ],
  });
  if (!said) return;
  const set = changed(task, { max_running: said.max === "" ? null : Number(said.max), paused: said.paused === "true" });
  await attempt(() => send("PATCH", `tasks/${part(task.task)}`, set), `${task.task} is set.`);
  after();
}

/** @param {string} name @returns {import("../app.js").Page} */
export function task(name) {
  /** @type {import("../types").Task | null | undefined} */
  let task;
  /** @type {import("../types").TaskSum[]} */
  let sums = [];
  const look = async (/** @type {AbortSignal} */ signal) => {
    const [one, summary] = await Promise.all([maybe(`tasks/${part(name)}`, {}, signal), get("summary", {}, signal)]);
    task = one;
    sums = summary.tasks.filter((/** @type {any} */ sum) => sum.task === name);
  };
  const again = () => void look(new AbortController().signal).catch(() => {});
  const pause = async (/** @type {boolean} */ paused) => {
    const said = paused ? await ask({ title: `Pause ${name}?`, text: "No further job of it is taken; those that run go on.", confirm: `Pause ${name}`, refuse: "Leave it",
      fields: [{ name: "note", label: "Why", hint: "For whoever finds it paused. May be left empty." }] }) : {};
    if (!said) return;
    await attempt(() => send("PATCH", `tasks/${part(name)}`, { paused, ...(said.note ? { note: said.note } : {}) }), paused ? `${name} is paused.` : `${name} is resumed.`);
    again();
  };
  const view = () => {
    if (task === undefined) return h("div", { class: "skeleton" });
    const known = task?.published;
    return [
      h("section", { class: "jobhead" },
        h("div", { class: "names" }, h("div", { class: "line" }, h("h2", null, name), task?.paused && mark("warning", "paused")),
          h("div", { class: "line muted" }, link(to.jobs(term("task", name)), "Its jobs"), link(to.jobs(`state:failed ${term("task", name)}`), "Those that failed"),
            beyond("task", { task: name }, "More about this task"))),
        h("div", { class: "actions" },
          task && mayOperate() && (task.paused ? button("Resume", () => void pause(false), { kind: "primary", icon: "play" }) : button("Pause …", () => void pause(true), { icon: "pause" })),
          task && mayOperate() && button("Set a limit …", () => task && void edit(task, again)),
          maySubmit() && known && (name === "sleep" ? button("Submit test jobs …", () => void testJobs(again), { icon: "play" }) : button("Submit a job …", () => void newJob(name), { icon: "play" })))),
      !task && sums.length === 0 && empty("Nothing is known of this task", "No executor has made it known, nothing is set for it, and no job of it is unfinished."),
      h("div", { class: "columns" },
        card("Jobs by priority and state", sums.length === 0 ? h("p", { class: "muted" }, "None unfinished, none failed, none ended in the last hour.")
          : h("table", { class: "plain" },
            h("thead", null, h("tr", null, ["State", "Priority", "Jobs", "Items", "Per job", "Items/min", "Failures", "Oldest"].map((title, n) => h("th", { scope: "col", class: n > 1 ? `num${n === 4 || n === 5 ? " wide" : ""}` : "" }, title)))),
            h("tbody", null, sums.map((sum) => h("tr", { key: `${sum.state} ${sum.priority}` },
              h("td", null, h("a", { href: to.jobs(`state:${sum.state} ${term("task", name)}`) }, state(sum))), h("td", null, sum.priority), h("td", { class: "num" }, count(sum.jobs)), h("td", { class: "num" }, count(sum.items)),
              h("td", { class: "num wide" }, sum.average_items.toFixed(1)), h("td", { class: "num wide", title: "of those that ended in the last hour" }, sum.items_per_minute === null ? "–" : rate(sum.items_per_minute)), h("td", { class: "num" }, count(sum.failures)), h("td", { class: "num" }, age(sum.oldest))))))),
        task && card("Settings", facts([
          ["Runs at a time", task.max_running === null ? "as many as there are slots" : `at most ${count(task.max_running)}`],
          ["On one executor", task.max_running_each === null ? "as many as it has slots" : `at most ${count(task.max_running_each)}`],
          ["Starts", task.rate === null ? "as often as there are slots" : `at most ${task.rate}`],
          ["Running now", `${count(task.held)} of ${count(task.effective)} that could`],
          task.executors.length > 0 ? ["By executor", task.executors.map((one) => `${one.executor} ${count(one.held)} of ${count(one.most)}`).join(", ")] : null,
          ["Paused", task.paused ? "yes: no further job is taken" : "no"],
          ["Ended jobs kept", kept(task.retention, "as is set for all jobs")],
          task.set ? ["Set by", [task.set.by, " ", ago(task.set.at), task.set.note && `: ${task.set.note}`]] : null,
          known ? ["Queue", known.queue] : ["Known", "no executor has made it known"],
          known ? ["Priority", known.priority] : null,
          known ? ["Retries", `${count(known.retries)}, after ${duration(known.retry_delay_seconds * 1000)}, doubled each time up to ${duration(known.retry_cap_seconds * 1000)}`] : null,
          known ? ["Time limit", known.time_limit_seconds === null ? "none" : duration(known.time_limit_seconds * 1000)] : null,
          known ? ["May run twice", known.restartable ? "yes" : "never"] : null,
          known ? ["Unfinished per owner", known.max_unfinished === null ? "any number" : `at most ${count(known.max_unfinished)}`] : null,
        ]))),
    ];
  };
  return { title: "Task", interest: null, look, view };
}
