// Queues: who serves each, which tasks use it, how much waits in it, and whether its jobs are taken.

import { h, redraw } from "../view.js";
import { get, maybe, part, send } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { term } from "../filter.js";
import { count } from "../format.js";
import { mayOperate } from "../session.js";
import { absent, button, empty, link, mark, slots, table, to } from "../parts.js";

/** So many queues are counted: there are few, as a rule. */
const COUNTED = 50;

/** @typedef {import("../types").Queue & { waiting: import("../types").Count | null }} Row */

/** @returns {import("../app.js").Page} */
export function queues() {
  /** @type {Row[] | null | undefined} */
  let all;
  /** Whether no job is taken at all. */
  let stopped = false;
  const look = async (/** @type {AbortSignal} */ signal) => {
    const [answer, set] = await Promise.all([maybe("queues", {}, signal), maybe("settings", {}, signal)]);
    stopped = set?.paused ?? false;
    if (!answer) {
      all = null;
      return;
    }
    /** @type {Row[]} */
    const rows = answer.queues.map((/** @type {import("../types").Queue} */ one) => ({ ...one, waiting: null }));
    await Promise.all(rows.slice(0, COUNTED).map(async (row) => {
      row.waiting = (await get("jobs", { queue: row.queue, state: "waiting,stuck", limit: 1, count: true }, signal)).count ?? null;
    }));
    all = rows;
  };
  /** Of one queue, or of all there is. */
  const pause = async (/** @type {string | null} */ queue, /** @type {boolean} */ paused) => {
    const [name, path] = queue === null ? ["everything", "settings"] : [queue, `queues/${part(queue)}`];
    const said = paused ? await ask({ title: `Pause ${name}?`, text: `No further job ${queue === null ? "" : "of it "}is taken; those that run go on.`, confirm: `Pause ${name}`, refuse: "Leave it",
      fields: [{ name: "note", label: "Why", hint: "For whoever finds it paused. May be left empty." }] }) : {};
    if (!said) return;
    await attempt(() => send("PATCH", path, { paused, ...(said.note ? { note: said.note } : {}) }), `${queue ?? "Everything"} is ${paused ? "paused" : "resumed"}.`);
    await look(new AbortController().signal).then(redraw, () => {});
  };
  const number = (/** @type {import("../types").Count | null} */ one) => (one ? `${count(one.jobs)}${one.more ? "+" : ""}` : "–");
  const view = () => {
    if (all === undefined) return h("div", { class: "skeleton" });
    if (all === null) return absent("Queues");
    if (all.length === 0) return empty("No queue is served", "An executor serves the queues that it is told to: `turnabout serve` serves the queue `default`.");
    return [stopped && h("div", { class: "banner warn", role: "status" }, "Everything is paused: no further job is taken, of any queue."),
      table({
      name: "Queues",
      rows: all,
      key: (row) => row.queue,
      columns: [
        { title: "Queue", cell: (row) => [link(to.jobs(term("queue", row.queue)), row.queue), " ", row.paused && mark("warning", "paused"), " ", row.executors === 0 && mark("critical", "not served", "no executor takes its jobs")] },
        { title: "Waiting", kind: "num", cell: (row) => link(to.jobs(`state:waiting,stuck ${term("queue", row.queue)}`), number(row.waiting)) },
        { title: "Running", kind: "num", cell: (row) => link(to.jobs(`state:running,scheduled ${term("queue", row.queue)}`), count(row.held)) },
        { title: "Executors", kind: "num wide", cell: (row) => count(row.executors) },
        { title: "Slots", kind: "wide", cell: (row) => [slots(row.held, row.slots), ` ${count(row.slots)}`] },
        { title: "Tasks", kind: "wide", cell: (row) => row.tasks.map((name, n) => [n > 0 && ", ", link(to.task(name), name)]) },
        { title: "", kind: "acts", cell: (row) => mayOperate() && (row.paused ? button("Resume", () => void pause(row.queue, false), { kind: "small" }) : button("Pause …", () => void pause(row.queue, true), { kind: "small" })) },
      ],
      }),
      mayOperate() && h("div", { class: "toolbar" }, stopped ? button("Resume everything", () => void pause(null, false), { kind: "primary", icon: "play" })
        : button("Pause everything …", () => void pause(null, true), { icon: "pause" }))];
  };
  return { title: "Queues", interest: null, look, view };
}
