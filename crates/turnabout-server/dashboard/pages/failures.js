// Failures, by task and error: since when, how many, and one button for all of them once the cause is mended.

import { h } from "../view.js";
import { maybe } from "../api.js";
import { change } from "../bulk.js";
import { term } from "../filter.js";
import { ago, count } from "../format.js";
import { maySubmit, seesAll } from "../session.js";
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
  /** The jobs of a row: of this task, with this error. */
  const meant = (/** @type {Failure} */ row, /** @type {"failed" | "stuck"} */ state) => {
    const by = row.code ? { code: row.code } : row.reason ? { reason: row.reason } : {};
    const query = { state, task: row.task, ...by };
    return { query, text: Object.entries(query).map(([name, value]) => term(name, value)).join(" ") };
  };
  const again = () => void look(new AbortController().signal).catch(() => {});
  const restart = (/** @type {Failure} */ row) => {
    // Errors without a code are told apart by their words, for which there is no filter.
    const others = (all ?? []).some((one) => one !== row && one.task === row.task && one.code === row.code && one.reason === row.reason);
    void change("restart", meant(row, "failed"), {
      note: others && !row.code ? `Failed jobs of ${row.task} with other errors without a code are among them.` : "They take their turns like all others, so that they do not push anyone aside.",
      after: again,
    });
  };
  const retry = (/** @type {Failure} */ row) => void change("retry", meant(row, "stuck"), { after: again });
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
        { title: "", kind: "acts", cell: (row) => [link(to.job(row.example), "Example"), " · ", link(to.jobs(meant(row, "failed").text), "Jobs"),
          maySubmit() && row.count > 0 && button("Restart all …", () => restart(row), { kind: "small", title: `All failed jobs of ${row.task} with this error` }),
          maySubmit() && (row.stuck ?? 0) > 0 && button("Try now …", () => retry(row), { kind: "small", title: `All stuck jobs of ${row.task} with this error` })] },
      ],
    });
  };
  return { title: "Failures", interest: seesAll() ? null : {}, look, view };
}
