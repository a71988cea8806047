// Fairness: what each group is entitled to, what it gets, how long it waits; who is noisy and who is harmed by that.

import { h, redraw } from "../view.js";
import { maybe } from "../api.js";
import { chart } from "../charts.js";
import { count, duration, percent } from "../format.js";
import { mayOperate, now } from "../session.js";
import { absent, button, card, choice, empty, link, mark, share, table, to } from "../parts.js";
import { edit } from "./group.js";

/** @typedef {import("../types").Share} Share */

/** Who had how many slots, while the page was open. @type {{ at: number, groups: Map<string, number> }[]} */
const samples = [];
const KEPT = 300;
const COLORS = 7;
const PAGE = 100;
/** No more groups are told at once; the search finds the others. */
const MOST = 1000;
/** By what groups can be sorted, and how the server calls it. @type {[string, string][]} */
const ORDERS = [["used", "Used most"], ["over", "Most above their share"], ["wait", "Longest waits"], ["waiting", "Waiting for their turn"],
  ["oldest", "Oldest jobs"], ["running", "Most running"], ["group", "Name"]];

/** @param {import("../app.js").Route} route @returns {import("../app.js").Page} */
export function fairness(route) {
  /** @type {import("../types").Shares | null | undefined} */
  let shares;
  let minutes = route.query.get("minutes") ?? "10";
  let find = route.query.get("find") ?? "";
  let by = route.query.get("by") ?? "used";
  let shown = PAGE;
  let asked = 0;

  const look = async (/** @type {AbortSignal} */ signal) => {
    const mine = ++asked;
    const answer = await maybe("shares", { minutes, limit: shown, sort: by, search: find }, signal);
    if (mine !== asked) return;
    shares = answer;
    if (!answer || find) return;
    samples.push({ at: now(), groups: new Map(answer.groups.filter((/** @type {Share} */ one) => one.running > 0).map((/** @type {Share} */ one) => [one.group, one.running])) });
    while (samples.length > KEPT) samples.shift();
  };
  /** Keeps what is chosen in the address, and looks again. */
  const again = () => {
    const all = new URLSearchParams();
    if (minutes !== "10") all.set("minutes", minutes);
    if (find) all.set("find", find);
    if (by !== "used") all.set("by", by);
    history.replaceState(null, "", `#/fairness${all.size > 0 ? `?${all}` : ""}`);
    redraw();
    void look(new AbortController().signal).then(redraw, () => {});
  };

  const stack = () => {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const { groups } of samples) for (const [name, n] of groups) sums.set(name, (sums.get(name) ?? 0) + n);
    const top = [...sums].sort((a, b) => b[1] - a[1]).slice(0, COLORS).map(([name]) => name);
    const points = samples.map(({ at, groups }) => {
      let rest = 0;
      for (const [name, n] of groups) if (!top.includes(name)) rest += n;
      return { at, values: [...top.map((name) => groups.get(name) ?? 0), rest] };
    });
    const series = [...top.map((name, n) => ({ name, color: `g${n}` })), { name: "others", color: "g-rest" }];
    return chart({ id: "slots", name: "Jobs in executors' hands by group", points, series: sums.size > COLORS ? series : series.slice(0, -1),
      stacked: true, format: count, least: shares?.slots ?? 1 });
  };

  const view = () => {
    if (shares === undefined) return h("div", { class: "skeleton" });
    if (shares === null) return absent("Shares");
    const all = shares.groups;
    const [noisy, harmed] = [shares.groups.filter((one) => one.noisy).length, shares.groups.filter((one) => one.harmed).length];
    const scale = Math.max(0.01, ...all.map((one) => Math.max(one.used, one.entitled)));
    return [
      h("div", { class: "tiles few" },
        h("div", { class: "tile", title: "Jain's index of used by entitled share: 1 is perfectly fair, 1/n is all for one" }, h("h2", null, "Fairness index"),
          h("div", { class: "value" }, shares.jain === null ? "–" : shares.jain.toFixed(2)), h("div", { class: "below" }, "1.00 is perfectly fair")),
        h("div", { class: "tile" }, h("h2", null, "One rotation"), h("div", { class: "value" }, duration(shares.rotation_ms)), h("div", { class: "below" }, "until every group has had its turn")),
        h("div", { class: noisy > 0 ? "tile warn" : "tile" }, h("h2", null, "Noisy"), h("div", { class: "value" }, count(noisy)), h("div", { class: "below" }, "take more than their share while others wait")),
        h("div", { class: harmed > 0 ? "tile bad" : "tile" }, h("h2", null, "Harmed"), h("div", { class: "value" }, count(harmed)), h("div", { class: "below" }, "wait longer than one rotation"))),
      card("Jobs in executors' hands by group, live", stack(), shares.slots !== null && `${count(shares.slots)} slots`),
      h("div", { class: "toolbar" },
        h("input", { id: "filter", type: "search", value: find, placeholder: "Find a group", "aria-label": "Find a group",
          oninput: (/** @type {Event} */ event) => {
            find = /** @type {HTMLInputElement} */ (event.target).value;
            again();
          } }),
        h("select", { "aria-label": "Order", onchange: (/** @type {Event} */ event) => {
          by = /** @type {HTMLSelectElement} */ (event.target).value;
          again();
        } }, ORDERS.map(([value, name]) => h("option", { value, selected: value === by }, name))),
        choice("Share over", [["1", "1 min"], ["10", "10 min"], ["60", "60 min"]], minutes, (value) => {
          minutes = value;
          again();
        })),
      all.length === 0 && empty(find ? "No such group is active" : "No group is active",
        find ? "Only groups that have jobs, or had some in this time, are shown." : "Groups appear here as soon as they have jobs."),
      all.length > 0 && table({
        name: "Groups",
        order: { by, down: by !== "group" },
        sort: (wanted) => {
          by = wanted;
          again();
        },
        rows: all,
        key: (one) => one.group,
        kind: (one) => (one.harmed ? "harmed" : one.noisy ? "noisy" : ""),
        columns: [
          { title: "Group", sort: "group", cell: (one) => [link(to.group(one.group), one.group), " ",
            one.noisy && mark("warning", "noisy", "more than its share while others wait"), one.harmed && mark("critical", "harmed", "waits longer than one rotation"),
            one.paused && mark("notice", "paused", one.set ? `by ${one.set.by}${one.set.note ? `: ${one.set.note}` : ""}` : undefined)] },
          { title: "Weight", kind: "num wide", cell: (one) => count(one.weight) },
          { title: "Used", kind: "num", sort: "used", cell: (one) => percent(one.used), hint: "slot seconds of all that were used" },
          { title: "", kind: "sharing", cell: (one) => share(one.used, one.entitled, one.harmed ? "harmed" : one.noisy ? "noisy" : "", scale) },
          { title: "Entitled", kind: "num", sort: "over", cell: (one) => percent(one.entitled), hint: "by its weight, among the groups that had work" },
          { title: "Running", kind: "num wide", sort: "running", cell: (one) => [count(one.running), one.max_running !== null && h("small", null, ` / ${one.max_running}`)] },
          { title: "Ready", kind: "num", cell: (one) => `${count(one.ready)}${one.ready_more ? "+" : ""}` },
          { title: "Oldest", kind: "num", sort: "oldest", cell: (one) => duration(one.oldest_ready_ms) },
          { title: "Wait p50", kind: "num wide", cell: (one) => duration(one.wait_p50_ms) },
          { title: "Wait p95", kind: "num wide", sort: "wait", cell: (one) => duration(one.wait_p95_ms) },
          mayOperate() && { title: "", kind: "wide acts", cell: (/** @type {Share} */ one) => button("Set …", () => void edit(one.group, again), { kind: "small", title: `Weight, limits and pause of ${one.group}` }) },
        ],
      }),
      shares.rest && shares.rest.groups > 0 && h("div", { class: "more" },
        h("span", null, `${count(shares.rest.groups)} further groups have had ${percent(shares.rest.used)}.`),
        shown < MOST ? button("Show more", () => {
          shown = Math.min(MOST, shown * 3);
          again();
        }) : "Search to see them."),
    ];
  };
  return { title: "Fairness", interest: null, look, view };
}
