// Tasks: how much work of each kind there is, how it goes, and what is set for it.

import { h } from "../view.js";
import { get, maybe } from "../api.js";
import { age, count } from "../format.js";
import { maySubmit, mayOperate } from "../session.js";
import { absent, button, empty, link, mark, ordering, table, to } from "../parts.js";
import { edit } from "./task.js";
import { testJobs } from "./submit.js";

/** @returns {import("../app.js").Page} */
export function tasks() {
  /** @type {(import("../types").Task & { items: number, failures: number, ended: number, failed: number })[] | null | undefined} */
  let all;
  const sorting = ordering("waiting", true);
  const look = async (/** @type {AbortSignal} */ signal) => {
    const [known, summary] = await Promise.all([maybe("tasks", {}, signal), get("summary", {}, signal)]);
    if (!known) {
      all = null;
      return;
    }
    /** @type {Map<string, any>} */
    const rows = new Map(known.tasks.map((/** @type {any} */ task) => [task.task, { ...task, items: 0, failures: 0, ended: 0, failed: 0 }]));
    for (const sum of summary.tasks) {
      const row = rows.get(sum.task) ?? { task: sum.task, waiting: 0, stuck: 0, held: 0, oldest: null, max_running: null, paused: false,
        published: null, items: 0, failures: 0, ended: 0, failed: 0 };
      if (!rows.has(sum.task)) rows.set(sum.task, row);
      const final = ["success", "failed", "cancelled"].includes(sum.state);
      const ended = sum.in_window ?? sum.jobs;
      if (final) row.ended += ended;
      else row.items += sum.items;
      row.failures += sum.failures;
      if (sum.state === "failed") row.failed += ended;
      if (!known.tasks.some((/** @type {any} */ task) => task.task === sum.task)) {
        if (sum.state === "waiting") row.waiting += sum.jobs;
        if (sum.state === "stuck") row.stuck += sum.jobs;
        if (sum.oldest && !final) row.oldest = sum.oldest;
      }
    }
    all = [...rows.values()];
  };
  const again = () => void look(new AbortController().signal).catch(() => {});
  const view = () => {
    if (all === undefined) return h("div", { class: "skeleton" });
    if (all === null) return absent("Tasks");
    return [
      h("div", { class: "toolbar end" }, maySubmit() && button("Submit test jobs …", () => void testJobs(again), { icon: "play" })),
      all.length === 0 && empty("No task is known", "Executors make their tasks known when they start: run `turnabout serve`, or your own program."),
      all.length > 0 && table({
        name: "Tasks",
        rows: sorting.sorted(all),
        order: sorting.order,
        sort: sorting.sort,
        key: (row) => row.task,
        columns: [
          { title: "Task", sort: "task", cell: (row) => [link(to.task(row.task), row.task), " ", row.paused && mark("warning", "paused"),
            !row.published && mark("critical", "unknown", "no executor has made this task known")] },
          { title: "Waiting", kind: "num", sort: "waiting", cell: (row) => count(row.waiting) },
          { title: "Running", kind: "num", sort: "held", cell: (row) => [count(row.held), row.max_running !== null && h("small", null, ` / ${row.max_running}`)] },
          { title: "Stuck", kind: "num", sort: "stuck", cell: (row) => count(row.stuck) },
          { title: "Items", kind: "num wide", sort: "items", cell: (row) => count(row.items), hint: "units of work in unfinished jobs" },
          { title: "Oldest", kind: "num", sort: "oldest", cell: (row) => age(row.oldest) },
          { title: "Ended, 1 h", kind: "num wide", sort: "ended", cell: (row) => count(row.ended) },
          { title: "Failed, 1 h", kind: "num", sort: "failed", cell: (row) => (row.failed > 0 ? link(to.jobs(`state:failed task:${row.task}`), count(row.failed)) : "0") },
          { title: "Queue", kind: "wide", cell: (row) => row.published?.queue ?? "–" },
          { title: "", kind: "acts wide", cell: (row) => mayOperate() && button("Set …", () => void edit(row, again), { kind: "small", title: `Limit and pause of ${row.task}` }) },
        ],
      }),
    ];
  };
  return { title: "Tasks", interest: null, look, view };
}
