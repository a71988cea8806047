// Schedules: jobs that are submitted again and again, and when next.

import { h, redraw } from "../view.js";
import { get, part, send } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { at, until } from "../format.js";
import { maySubmit, seesAll } from "../session.js";
import { button, empty, link, mark, table, to } from "../parts.js";

/** @typedef {import("../types").Schedule} Schedule */

/** Whose it is, as a query. @param {Schedule} one */
const whose = (one) => ({ group: one.group, owner: one.owner });

/** Pauses a schedule, with a note, or resumes it. @param {Schedule} one @param {() => void} after */
export async function pause(one, after) {
  const path = `schedules/${part(one.name)}`;
  if (one.paused) {
    await attempt(() => send("POST", `${path}/resume`, undefined, whose(one)), `${one.name} goes on from its next time.`);
    return after();
  }
  const said = await ask({ title: `Pause ${one.name}?`, text: "Times that come meanwhile have no job, also later.", confirm: `Pause ${one.name}`, refuse: "Leave it",
    fields: [{ name: "note", label: "Why", hint: "For whoever finds it paused. May be left empty." }] });
  if (!said) return;
  await attempt(() => send("POST", `${path}/pause`, said.note ? { note: said.note } : {}, whose(one)), `${one.name} is paused.`);
  after();
}

/** Submits a job of a schedule now. @param {Schedule} one @param {() => void} after */
export async function run(one, after) {
  const done = await attempt(() => send("POST", `schedules/${part(one.name)}/run`, {}, whose(one)), "A job of it was submitted.");
  if (done?.job) location.hash = to.job(done.job);
  else after();
}

/** @returns {import("../app.js").Page} */
export function schedules() {
  /** @type {Schedule[] | null} */
  let all = null;
  /** @type {string | null} */
  let next = null;
  /** @type {(string | null)[]} */
  let after = [null];
  const look = async (/** @type {AbortSignal} */ signal) => {
    const page = await get("schedules", { limit: 100, after: after[after.length - 1] ?? null }, signal);
    [all, next] = [page.schedules, page.next];
  };
  const again = () => void look(new AbortController().signal).then(redraw, () => {});
  const turn = (/** @type {(string | null)[]} */ pages) => {
    after = pages;
    again();
  };
  const view = () => {
    if (!all) return h("div", { class: "skeleton" });
    if (all.length === 0 && after.length === 1) {
      return empty("There are no schedules", ["Jobs can be submitted by the calendar: ", h("code", null, "turnabout schedule set weekly --task report --at 'Mon 09:00'"), ", ", h("code", null, "[schedules.NAME]"), " in the configuration, or the API."],
        h("a", { class: "button", href: "api/docs/#/schedules" }, "Read the API"));
    }
    return [
      table({
        name: "Schedules",
        rows: all,
        key: (one) => one.id,
        columns: [
          { title: "Schedule", cell: (one) => [link(to.schedule(one), one.name), " ", one.paused && mark("warning", "paused", one.paused.note ?? undefined), !one.enabled && mark("notice", "off"), one.stopped && mark("critical", "stopped", one.stopped)] },
          { title: "When", kind: "main", cell: (one) => [one.description, h("small", { class: "mono" }, `${one.expression} ${one.zone}`)] },
          { title: "Task", cell: (one) => link(to.task(one.task), one.task) },
          seesAll() && { title: "Group", kind: "wide", cell: (one) => (one.group ? link(to.group(one.group), one.group) : h("span", { class: "muted" }, "the system")) },
          { title: "Next", kind: "num", cell: (one) => (one.paused ? "–" : [until(one.next), h("small", null, at(one.next, ""))]) },
          { title: "Last", kind: "num wide", cell: (one) => (one.last_job ? link(to.job(one.last_job), at(one.last_time)) : "never") },
          maySubmit() && { title: "", kind: "acts", cell: (one) => [button("Run now", () => void run(one, again), { kind: "small" }), button(one.paused ? "Resume" : "Pause …", () => void pause(one, again), { kind: "small" })] },
        ],
      }),
      (after.length > 1 || next) && h("nav", { class: "pager", "aria-label": "Pages of schedules" },
        button("Back", () => turn(after.slice(0, -1)), { disabled: after.length === 1, icon: "left" }), h("span", null, `page ${after.length}`),
        button("Next", () => next && turn([...after, next]), { disabled: !next, icon: "right" })),
    ];
  };
  return { title: "Schedules", interest: seesAll() ? null : {}, look, view };
}
