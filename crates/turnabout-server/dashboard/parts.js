// What pages are made of: links, badges, tables, empty states.

import { h, redraw } from "./view.js";
import { outside } from "./session.js";
import { term } from "./filter.js";
import { count, percent } from "./format.js";

/** @typedef {import("./view.js").Kid} Kid */

/** Where things are, as addresses of this page. */
export const to = {
  /** @param {string} id */
  job: (id) => `#/jobs/${encodeURIComponent(id)}`,
  /** @param {string} text */
  jobs: (text) => `#/jobs?q=${encodeURIComponent(text)}`,
  /** @param {string} name */
  group: (name) => `#/groups/${encodeURIComponent(name)}`,
  /** @param {string} name */
  task: (name) => `#/tasks/${encodeURIComponent(name)}`,
  /** @param {import("./types").Schedule} schedule */
  schedule: (schedule) => {
    const whose = new URLSearchParams();
    if (schedule.group) whose.set("group", schedule.group);
    if (schedule.owner) whose.set("owner", schedule.owner);
    return `#/schedules/${encodeURIComponent(schedule.name)}${whose.size > 0 ? `?${whose}` : ""}`;
  },
};

/** A sentence in which `names` stand out, as the server marks them. @param {string} text @returns {Kid[]} */
export const prose = (text) => text.split("`").map((one, n) => (n % 2 === 1 ? h("b", { class: "name" }, one) : one));

/** @param {string} href @param {...Kid} kids */
export const link = (href, ...kids) => h("a", { href }, kids);

/** Paths of pictures, 16 by 16. */
const ICONS = {
  now: "M2 8h3l2-5 3 10 2-5h2",
  fairness: "M8 2v11M4 14h8M3 4.5l5-1 5 1M3 4.5 1.2 9h3.6zM13 4.5 11.2 9h3.6z",
  jobs: "M3 4h10M3 8h10M3 12h6",
  failures: "M8 2.2 14.4 13H1.6zM8 6.5v3M8 11.2v.3",
  tasks: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
  groups: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M1.8 13c.3-2.4 2-3.8 4.2-3.8s3.9 1.4 4.2 3.8M10.6 3.2a2.1 2.1 0 0 1 0 4.1M12 9.6c1.3.5 2.1 1.7 2.3 3.4",
  queues: "M2 4h12M2 8h8M2 12h12M12 6.3 14 8l-2 1.7",
  executors: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.2M5 11h.2",
  schedules: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.700V8l2.3 1.5",
  audit: "M4 2h6l3 3v9H4zM6.5 8h4M6.5 10.700h4M10 2v3h3",
  menu: "M2 4h12M2 8h12M2 12h12",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.7 10.7 14 14",
  out: "M9 3h4v4M13 3 7.5 8.500M11 9.500V13H3V5h3.5",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  leave: "M6 3H3v10h3M7 8h7M11.5 5.5 14 8l-2.5 2.5",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.500V3h7.500v7.500h-2.500M3 5.500h7.500V13H3z",
  pause: "M5.5 3.500v9M10.5 3.500v9",
  play: "M5 3.2 12.5 8 5 12.800z",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  good: "M3 8.5 6.5 12 13 4.5",
};

/** @param {keyof typeof ICONS} name */
export const icon = (name) =>
  h("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: ICONS[name] }));

/** A job's state. @param {{ state: string, cancelling?: boolean }} job */
export const state = (job) =>
  h("span", { class: `state ${job.state}` }, job.cancelling && job.state !== "cancelled" ? "cancelling" : job.state);

/** @param {string} kind @param {string} text @param {string} [title] */
export const mark = (kind, text, title) => h("span", { class: `mark ${kind}`, title }, text);

/** How far a job is. @param {number} value @param {string} [label] */
export const progress = (value, label) =>
  h("span", { class: "bar", role: "progressbar", "aria-valuenow": value, "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-label": label ?? "progress" },
    h("span", { style: { width: `${value}%` } }));

/**
 * The share that a group has had, beside the one that it is entitled to.
 * @param {number} used @param {number} entitled @param {string} kind @param {number} [scale]
 */
export function share(used, entitled, kind, scale = 1) {
  const wide = (/** @type {number} */ x) => `${Math.min(100, (x / scale) * 100)}%`;
  return h("span", { class: `share ${kind}`, role: "img",
    "aria-label": `used ${percent(used)}, entitled to ${percent(entitled)}` },
    h("span", { class: "used", style: { width: wide(used) } }),
    h("span", { class: "entitled", style: { left: wide(entitled) } }));
}

/** Slots, used and free. @param {number} used @param {number} all */
export const slots = (used, all) =>
  h("span", { class: "slots", role: "img", "aria-label": `${count(used)} of ${count(all)} slots are used` },
    all > 0 && all <= 24
      ? Array.from({ length: all }, (_, n) => h("span", { class: n < used ? "slot full" : "slot" }))
      : h("span", { class: "bar" }, h("span", { style: { width: `${all > 0 ? Math.min(100, (used / all) * 100) : 0}%` } })));

/**
 * @template T
 * @typedef {{ title: string, cell: (row: T) => Kid, kind?: string, sort?: string, hint?: string }} Column
 */

/**
 * A table. Columns of kind `num` stand to the right; `wide` ones are left out on a telephone.
 * @template T
 * @param {{ name: string, columns: (Column<T> | null | false)[], rows: T[], key: (row: T) => string,
 *   kind?: (row: T) => string, order?: { by: string, down: boolean }, sort?: (by: string) => void }} given
 */
export function table({ name, columns, rows, key, kind, order, sort }) {
  const shown = columns.filter((column) => column !== null && column !== false);
  const heading = (/** @type {Column<T>} */ column) => {
    const by = column.sort;
    if (!by || !sort) return column.title;
    const mine = order?.by === by;
    return h("button", { class: "sort", type: "button", onclick: () => sort(by) }, column.title,
      h("span", { class: "arrow", "aria-hidden": "true" }, mine ? (order.down ? "↓" : "↑") : ""));
  };
  const sorted = (/** @type {Column<T>} */ column) =>
    column.sort && order?.by === column.sort ? (order.down ? "descending" : "ascending") : undefined;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
    h("table", null,
      h("thead", null, h("tr", null, shown.map((column) =>
        h("th", { scope: "col", class: column.kind, title: column.hint, "aria-sort": sorted(column) }, heading(column))))),
      h("tbody", null, rows.map((row) =>
        h("tr", { key: key(row), class: kind?.(row) }, shown.map((column) =>
          h("td", { class: column.kind }, column.cell(row))))))));
}

/** What stands where there is nothing, and what to do next. @param {string} title @param {Kid} text @param {...Kid} actions */
export const empty = (title, text, ...actions) =>
  h("div", { class: "empty" }, h("h2", null, title), h("p", null, text),
    actions.length > 0 && h("div", { class: "actions" }, actions));

/** What stands where this server has nothing to say. @param {string} what */
export const absent = (what) =>
  empty(`${what} cannot be shown here`, "This server does not tell it, or not to this token.");

/** @param {string} title @param {Kid} body @param {Kid} [beside] @param {string} [kind] */
export const card = (title, body, beside, kind = "") =>
  h("section", { class: `card ${kind}`, "aria-label": title },
    h("header", null, h("h2", null, title), beside && h("div", { class: "beside" }, beside)), body);

/** @param {string} text @param {() => void} act @param {{ kind?: string, disabled?: boolean, title?: string, icon?: keyof typeof ICONS }} [more] */
export const button = (text, act, more = {}) =>
  h("button", { type: "button", class: `button ${more.kind ?? ""}`, disabled: more.disabled ?? false, title: more.title,
    onclick: act }, more.icon && icon(more.icon), text);

/** Pairs of names and values. @param {([string, Kid] | null | false)[]} pairs */
export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.map((pair) => pair && h("div", { key: pair[0] }, h("dt", null, pair[0]), h("dd", null, pair[1]))));

/** A link to another program, if one is configured. @param {keyof import("./types").Links} kind @param {Record<string, string | null | undefined>} about @param {string} text */
export function beyond(kind, about, text) {
  const href = outside(kind, about);
  return href && h("a", { href, class: "beyond", target: "_blank", rel: "noopener noreferrer" }, text, icon("out"));
}

/** Where the page shows what a path of the API tells. @param {string} path */
export function inside(path) {
  const [, name = "", part, query = ""] = /^\/api\/v1\/([\w-]+)(?:\/([^?]+))?(?:\?(.*))?$/s.exec(path) ?? [];
  const said = new URLSearchParams(query);
  if (name === "jobs" && !part) {
    const known = [...said].filter(([key]) => ["state", "task", "group", "owner", "queue"].includes(key));
    return to.jobs(known.map(([key, value]) => term(key, value)).join(" "));
  }
  if (name === "shares") return `#/fairness${said.has("sort") ? `?by=${said.get("sort")}` : ""}`;
  if (name === "executors") return "#/executors";
  if (!["jobs", "groups", "tasks", "schedules", "failures", "audit"].includes(name)) return null;
  return `#/${name}${part ? `/${encodeURIComponent(part)}` : ""}${name === "schedules" && query ? `?${query}` : ""}`;
}

/** One of several. @param {string} name @param {[string, string][]} choices @param {string} chosen @param {(value: string) => void} choose */
export const choice = (name, choices, chosen, choose) =>
  h("div", { class: "choice", role: "group", "aria-label": name }, choices.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value) }, text)));

/** Puts a text on the clipboard. @param {string} text @param {string} what */
export function copy(text, what) {
  return h("button", { type: "button", class: "copy", title: `Copy ${what}`, "aria-label": `Copy ${what}`,
    onclick: (/** @type {Event} */ event) => {
      void navigator.clipboard?.writeText(text);
      const element = /** @type {HTMLElement} */ (event.currentTarget);
      element.classList.add("done");
      setTimeout(() => element.classList.remove("done"), 1200);
    } }, icon("copy"));
}

/**
 * Sorts rows by what is called so, and remembers how.
 * @param {string} by @param {boolean} down
 */
export function ordering(by, down) {
  const order = { by, down };
  return {
    order,
    /** @param {string} wanted */
    sort(wanted) {
      order.down = order.by === wanted ? !order.down : true;
      order.by = wanted;
      redraw();
    },
    /** @template {Record<string, any>} T @param {T[]} rows @returns {T[]} */
    sorted(rows) {
      const sign = order.down ? -1 : 1;
      const value = (/** @type {T} */ row) => row[order.by] ?? (typeof row[order.by] === "string" ? "" : -1);
      return [...rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return sign * (typeof x === "string" ? x.localeCompare(String(y)) : Number(x) - Number(y));
      });
    },
  };
}
