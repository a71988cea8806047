// Failures, by task and error: since when, how many, and one button for all of them once the cause is mended.

import { h } from "../view.js";
import { maybe } from "../api.js";
import { change } from "../bulk.js";
import { term } from "../filter.js";
import { ago, count } from "../format.js";
import { mayChange } from "../session.js";
import { absent, button, empty, link, mark, ordering, table, to } from "../parts.js";

/** @typedef {import("../types").Failure} Failure */

/** @returns {import("../app.js").Page} */
export function failures() {
  /** @type {Failure[] | null | undefined} */
  let all;
  const sorting = ordering("count", true);
  const look = async (/** @type {AbortSignal} */ signal) => {
    const answer = await maybe("failures", {}, signal);
    all = answer === null ? null : answer.failures.map((/** @type {Failure} */ row) => ({ stuck: 0, ...row }));
  };
  const restart = (/** @type {Failure} */ row) => {
    const others = (all ?? []).filter((one) => one.task === row.task).length - 1;
    void change("restart", { query: { state: "failed", task: row.task }, text: `state:failed ${term("task", row.task)}` }, {
      note: others > 0 ? `Failed jobs of ${row.task} with other errors are among them.` : "They take their turns like all others, so that they do not push anyone aside.",
      after: () => void look(new AbortController().signal).catch(() => {}),
    });
  };
  const retry = (/** @type {Failure} */ row) =>
    void change("retry", { query: { state: "stuck", task: row.task }, text: `state:stuck ${term("task", row.task)}` }, {
      after: () => void look(new AbortController().signal).catch(() => {}),
    });
  const view = () => {
    if (all === undefined) return h("div", { class: "skeleton" });
    if (all === null) return [absent("Failures by error"), h("p", { class: "center" }, link(to.jobs("state:failed"), "All failed jobs"))];
    if (all.length === 0) return empty("Nothing has failed", "Jobs that fail for good are gathered here by task and error.");
    return table({
      name: "Failures",
      rows: sorting.sorted(all),
      order: sorting.order,
      sort: sorting.sort,
      key: (row) => `${row.task} ${row.code} ${row.reason} ${row.message}`,
      columns: [
        { title: "Failed", kind: "num", sort: "count", cell: (row) => count(row.count) },
        { title: "Stuck", kind: "num", sort: "stuck", cell: (row) => count(row.stuck ?? 0), hint: "will be tried again" },
        { title: "Task", sort: "task", cell: (row) => link(to.task(row.task), row.task) },
        { title: "Error", kind: "main", cell: (row) => [(row.code ?? row.reason) && mark("critical", row.code ?? row.reason ?? ""), " ", h("span", { class: "error", title: row.message }, row.message)] },
        { title: "First", kind: "num wide", sort: "first", cell: (row) => ago(row.first) },
        { title: "Last", kind: "num", sort: "last", cell: (row) => ago(row.last) },
        { title: "", kind: "acts", cell: (row) => [link(to.job(row.example), "Example"), " · ", link(to.jobs(`state:failed ${term("task", row.task)}`), "Jobs"),
          mayChange() && row.count > 0 && button("Restart all …", () => restart(row), { kind: "small", title: `All failed jobs of ${row.task}` }),
          mayChange() && (row.stuck ?? 0) > 0 && button("Try now …", () => retry(row), { kind: "small", title: `All stuck jobs of ${row.task}` })] },
      ],
    });
  };
  return { title: "Failures", interest: {}, look, view };
}
