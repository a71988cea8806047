// Groups: those that have jobs or settings, by name.

import { h, redraw } from "../view.js";
import { get } from "../api.js";
import { age, count } from "../format.js";
import { maySubmit, mayOperate } from "../session.js";
import { button, empty, link, mark, table, to } from "../parts.js";
import { edit } from "./group.js";
import { testJobs } from "./submit.js";

/** As many as the server lists unless it is told otherwise: it keeps this page ready. */
const PAGE = 100;

/** @returns {import("../app.js").Page} */
export function groups() {
  /** @type {import("../types").Group[] | null} */
  let all = null;
  /** @type {string | null} */
  let next = null;
  /** The beginnings of the pages up to this one. */
  let after = [""];
  let find = "";
  const look = async (/** @type {AbortSignal} */ signal) => {
    const page = await get("groups", { after: after[after.length - 1], limit: PAGE }, signal);
    [all, next] = [page.groups, page.next];
  };
  const again = () => void look(new AbortController().signal).then(redraw, () => {});
  const turn = (/** @type {string[]} */ pages) => {
    after = pages;
    again();
  };
  const view = () => {
    if (!all) return h("div", { class: "skeleton" });
    const rows = all.filter((one) => one.group.toLowerCase().includes(find.toLowerCase()));
    return [
      h("form", { class: "toolbar", onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (find) location.hash = to.group(find);
      } }, h("input", { id: "filter", type: "search", placeholder: "Find a group; Enter opens it by its full name", "aria-label": "Find a group", oninput: (/** @type {Event} */ event) => {
        find = /** @type {HTMLInputElement} */ (event.target).value;
        redraw();
      } }), h("button", { type: "submit", class: "button" }, "Open")),
      all.length === 0 && after.length === 1 && empty("No group has jobs or settings", "A group is there as soon as a job names it.",
        maySubmit() && button("Submit a test job", () => void testJobs(again), { kind: "primary", icon: "play" })),
      all.length > 0 && table({
        name: "Groups",
        rows,
        key: (one) => one.group,
        columns: [
          { title: "Group", cell: (one) => [link(to.group(one.group), one.group), " ", one.paused && mark("warning", "paused")] },
          { title: "Weight", kind: "num", cell: (one) => count(one.weight) },
          { title: "Ready", kind: "num", cell: (one) => count(one.ready) },
          { title: "Running", kind: "num", cell: (one) => [count(one.held), one.max_running !== null && h("small", null, ` / ${one.max_running}`)] },
          { title: "Parked", kind: "num wide", cell: (one) => count(one.parked), hint: "delayed, or waiting for a retry" },
          { title: "Items", kind: "num wide", cell: (one) => count(one.items) },
          { title: "Oldest", kind: "num", cell: (one) => age(one.oldest) },
          { title: "Unfinished at most", kind: "num wide", cell: (one) => count(one.max_unfinished) },
          mayOperate() && { title: "", kind: "acts wide", cell: (one) => button("Set …", () => void edit(one.group, again), { kind: "small", title: `Weight, limits and pause of ${one.group}` }) },
        ],
      }),
      (after.length > 1 || next) && h("nav", { class: "pager", "aria-label": "Pages of groups" },
        button("Back", () => turn(after.slice(0, -1)), { disabled: after.length === 1, icon: "left" }), h("span", null, `page ${after.length}`),
        button("Next", () => next && turn([...after, next]), { disabled: !next, icon: "right" })),
    ];
  };
  return { title: "Groups", interest: null, look, view };
}
