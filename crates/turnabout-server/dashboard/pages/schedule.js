// One schedule: when it comes, the next times, and what became of the last ones.

import { h, redraw } from "../view.js";
import { maybe, get, part } from "../api.js";
import { at, count, duration, exactly, until } from "../format.js";
import { maySubmit, seesAll } from "../session.js";
import { button, card, empty, facts, link, mark, state, to } from "../parts.js";
import { pause, run } from "./schedules.js";

/** @param {string} name @param {import("../app.js").Route} route @returns {import("../app.js").Page} */
export function schedule(name, route) {
  const whose = { group: route.query.get("group"), owner: route.query.get("owner") };
  /** @type {import("../types").Schedule | null | undefined} */
  let one;
  /** @type {string[]} */
  let times = [];
  /** @type {import("../types").Run[]} */
  let runs = [];
  const path = `schedules/${part(name)}`;
  const look = async (/** @type {AbortSignal} */ signal) => {
    one = await maybe(path, whose, signal);
    if (!one) return;
    const [next, history] = await Promise.all([get(`${path}/next`, { ...whose, count: 8 }, signal), get(`${path}/history`, { ...whose, limit: 20 }, signal)]);
    [times, runs] = [next.times, history.runs];
  };
  const again = () => void look(new AbortController().signal).then(redraw, () => {});
  const KIND = /** @type {Record<string, string>} */ ({ fired: "good", skipped: "notice", missed: "warning", refused: "critical" });
  const view = () => {
    if (one === undefined) return h("div", { class: "skeleton" });
    if (one === null) return empty("There is no such schedule", "It was deleted, or is not for this token.", link("#/schedules", "All schedules"));
    const shown = one;
    return [
      h("section", { class: "jobhead" },
        h("div", { class: "names" }, h("div", { class: "line" }, h("h2", null, name), shown.paused && mark("warning", "paused"), shown.stopped && mark("critical", "stopped")),
          h("div", { class: "line muted" }, h("span", null, shown.description), h("code", null, shown.expression), h("span", null, shown.zone))),
        maySubmit() && h("div", { class: "actions" }, button("Run now", () => void run(shown, again), { kind: "primary", icon: "play" }), button(shown.paused ? "Resume" : "Pause …", () => void pause(shown, again), { icon: shown.paused ? "play" : "pause" }))),
      shown.paused && h("div", { class: "banner warn" }, "Paused since ", at(shown.paused.since), shown.paused.by && ` by ${shown.paused.by}`, shown.paused.note && `: ${shown.paused.note}`),
      shown.stopped && h("div", { class: "banner bad" }, shown.stopped),
      h("div", { class: "columns" },
        card("What became of its times", runs.length === 0 ? h("p", { class: "muted" }, "It has not been due yet.")
          : h("ul", { class: "children" }, runs.map((past) => h("li", { key: past.number }, mark(KIND[past.kind] ?? "notice", past.kind), at(past.time ?? past.at), past.count > 1 && h("span", { class: "muted" }, `${count(past.count)} times`),
            past.job && link(to.job(past.job), past.state ? state({ state: past.state }) : "its job"), past.late_seconds >= 1 && h("span", { class: "muted" }, `${duration(past.late_seconds * 1000)} late`), past.why && h("span", { class: "muted" }, past.why))))),
        h("div", null,
          card("Next times", times.length === 0 ? h("p", { class: "muted" }, "No time lies ahead.") : h("ol", { class: "times" }, times.map((time) => h("li", null, h("time", { datetime: time, title: exactly(time) }, at(time)), h("small", null, until(time)))))),
          card("Facts", facts([
            ["Task", link(to.task(shown.task), shown.task)],
            ["Group", shown.group ? link(to.group(shown.group), shown.group) : "the system"],
            shown.owner ? ["Owner", shown.owner] : null,
            ["If the last still runs", shown.overlap],
            ["Times that were missed", shown.missed],
            shown.jitter_seconds > 0 ? ["Jitter", `up to ${duration(shown.jitter_seconds * 1000)}`] : null,
            ["Declared by", shown.declared_by ?? "made by hand"],
            shown.set_by_operator.length > 0 ? ["Set by an operator", shown.set_by_operator.join(", ")] : null,
            ["Made", at(shown.created)],
          ])))),
    ];
  };
  return { title: "Schedule", interest: seesAll() ? null : {}, look, view };
}
