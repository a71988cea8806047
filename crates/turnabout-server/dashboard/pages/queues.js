// Queues: who serves each, which tasks use it, and how much waits in it.

import { h } from "../view.js";
import { get, maybe } from "../api.js";
import { term } from "../filter.js";
import { count } from "../format.js";
import { absent, empty, link, mark, slots, table, to } from "../parts.js";

/** So many queues are counted: there are few, as a rule. */
const COUNTED = 50;

/** @typedef {{ queue: string, executors: import("../types").Executor[], tasks: string[], waiting: import("../types").Count | null, running: import("../types").Count | null }} Queue */

/** @returns {import("../app.js").Page} */
export function queues() {
  /** @type {Queue[] | null | undefined} */
  let all;
  const look = async (/** @type {AbortSignal} */ signal) => {
    const [executors, tasks] = await Promise.all([maybe("executors", {}, signal), maybe("tasks", {}, signal)]);
    if (!executors || !tasks) {
      all = null;
      return;
    }
    /** @type {Map<string, Queue>} */
    const found = new Map();
    const queue = (/** @type {string} */ name) => {
      const one = found.get(name) ?? { queue: name, executors: [], tasks: [], waiting: null, running: null };
      found.set(name, one);
      return one;
    };
    for (const one of executors.executors) for (const name of one.queues) queue(name).executors.push(one);
    for (const one of tasks.tasks) if (one.published) queue(one.published.queue).tasks.push(one.task);
    const rows = [...found.values()].sort((a, b) => a.queue.localeCompare(b.queue));
    await Promise.all(rows.slice(0, COUNTED).map(async (row) => {
      const counted = (/** @type {string} */ state) => get("jobs", { queue: row.queue, state, limit: 1, count: true }, signal).then((page) => page.count ?? null);
      [row.waiting, row.running] = await Promise.all([counted("waiting,stuck"), counted("running,scheduled")]);
    }));
    all = rows;
  };
  const number = (/** @type {import("../types").Count | null} */ one) => (one ? `${count(one.jobs)}${one.more ? "+" : ""}` : "–");
  const view = () => {
    if (all === undefined) return h("div", { class: "skeleton" });
    if (all === null) return absent("Queues");
    if (all.length === 0) return empty("No queue is served", "An executor serves the queues that it is told to: `turnabout serve` serves the queue `default`.");
    return table({
      name: "Queues",
      rows: all,
      key: (row) => row.queue,
      columns: [
        { title: "Queue", cell: (row) => [link(to.jobs(term("queue", row.queue)), row.queue), " ", row.executors.filter((one) => !one.draining).length === 0 && mark("critical", "not served", "no executor takes its jobs")] },
        { title: "Waiting", kind: "num", cell: (row) => link(to.jobs(`state:waiting,stuck ${term("queue", row.queue)}`), number(row.waiting)) },
        { title: "Running", kind: "num", cell: (row) => number(row.running) },
        { title: "Executors", kind: "num", cell: (row) => count(row.executors.length) },
        { title: "Slots", cell: (row) => { const total = row.executors.reduce((sum, one) => sum + one.slots, 0); return [slots(row.executors.reduce((sum, one) => sum + one.held, 0), total), ` ${count(total)}`]; } },
        { title: "Tasks", kind: "wide", cell: (row) => row.tasks.map((name, n) => [n > 0 && ", ", link(to.task(name), name)]) },
      ],
    });
  };
  return { title: "Queues", interest: {}, look, view };
}
