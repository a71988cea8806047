// Audit: who has changed what, when, and how many jobs it was about.

import { h, redraw } from "../view.js";
import { maybe } from "../api.js";
import { at, count } from "../format.js";
import { absent, button, empty, link, table, to } from "../parts.js";

/** @typedef {import("../types").AuditEntry} Entry */

/** @returns {import("../app.js").Page} */
export function audit() {
  /** @type {{ entries: Entry[], next: number | null } | null | undefined} */
  let page;
  /** @type {(number | null)[]} */
  let cursors = [null];
  const look = async (/** @type {AbortSignal} */ signal) => {
    page = await maybe("audit", { limit: 100, before: cursors[cursors.length - 1] ?? null }, signal);
  };
  const turn = (/** @type {(number | null)[]} */ pages) => {
    cursors = pages;
    void look(new AbortController().signal).then(redraw, () => {});
  };
  const said = (/** @type {unknown} */ filter) => (filter === null || filter === undefined ? "" : typeof filter === "string" ? filter : JSON.stringify(filter));
  /** Only what differs. @param {any} before @param {any} after */
  const difference = (before, after) => {
    if (typeof before !== "object" || typeof after !== "object" || !before || !after) return said(after ?? before);
    const names = Object.keys({ ...before, ...after }).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
    return names.map((name) => `${name}: ${JSON.stringify(before[name] ?? null)} → ${JSON.stringify(after[name] ?? null)}`).join(", ");
  };
  const target = (/** @type {Entry} */ one) => {
    const [kind = "", name = ""] = (one.target ?? "").split(/:(.*)/s);
    const href = kind === "job" ? to.job(name) : kind === "group" ? to.group(name) : kind === "task" ? to.task(name) : null;
    return href ? link(href, one.target) : h("span", { class: "mono" }, one.target ?? "");
  };
  const view = () => {
    if (page === undefined) return h("div", { class: "skeleton" });
    if (page === null) return absent("The audit");
    if (page.entries.length === 0 && cursors.length === 1) return empty("Nothing has been changed yet", "Whatever an operator changes, here or elsewhere, is kept here: who, when, what, and how many jobs.");
    const next = page.next;
    return [
      table({
        name: "Audit",
        rows: page.entries,
        key: (one) => String(one.number),
        columns: [
          { title: "When", cell: (one) => at(one.at) },
          { title: "Who", kind: "tight", cell: (one) => [h("strong", null, one.by), h("small", null, [one.role, one.address].filter(Boolean).join(", "))] },
          { title: "What", kind: "tight", cell: (one) => one.action },
          { title: "Of", kind: "main", cell: (one) => [target(one), said(one.filter) && h("small", { class: "mono" }, said(one.filter)), (Boolean(one.before) || Boolean(one.after)) && h("small", { class: "mono", title: `before: ${said(one.before)}\nafter: ${said(one.after)}` }, difference(one.before, one.after)),
            one.note && h("small", null, `“${one.note}”`)] },
          { title: "Jobs", kind: "num", cell: (one) => (one.count === null ? "" : count(one.count)) },
        ],
      }),
      (cursors.length > 1 || next) && h("nav", { class: "pager", "aria-label": "Pages of the audit" },
        button("Newer", () => turn(cursors.slice(0, -1)), { disabled: cursors.length === 1, icon: "left" }), h("span", null, `page ${cursors.length}`),
        button("Older", () => next && turn([...cursors, next]), { disabled: !next, icon: "right" })),
    ];
  };
  return { title: "Audit", interest: null, look, view };
}
