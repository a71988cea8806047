// One group: its jobs, its share, its waits, and what is set for it. For those who see one group alone, this is home.

import { h, redraw } from "../view.js";
import { get, maybe, part, send } from "../api.js";
import { ask, attempt, changed } from "../dialog.js";
import { term } from "../filter.js";
import { ago, brief, count, duration, kept, percent } from "../format.js";
import { Search } from "../search.js";
import { maySubmit, mayOperate, me, seesAll } from "../session.js";
import { beyond, button, card, empty, facts, link, mark, progress, share as bar, state, to } from "../parts.js";
import { limit } from "./task.js";
import { testJobs } from "./submit.js";

/** Asks what is to be set for a group. @param {string} name @param {() => void} after */
export async function edit(name, after) {
  /** @type {import("../types").Group | null} */
  const group = await get(`groups/${part(name)}`).catch(() => null);
  if (!group) return;
  const said = await ask({
    title: `What is set for ${name}`,
    text: "It acts at once, also on jobs that wait already, and outlives the server. The configuration file goes before it.",
    confirm: "Set it",
    fields: [
      { name: "weight", label: "Weight", type: "number", value: String(group.weight), min: 1, max: 1000, required: true,
        check: (value) => (/^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 1000 ? null : "From 1 to 1000. To give it nothing, pause it."),
        hint: "How many turns it gets for each one of a group of weight 1." },
      { name: "running", label: "Jobs that run at a time, at the most", value: group.max_running === null ? "" : String(group.max_running), placeholder: "no limit", check: limit },
      { name: "unfinished", label: "Unfinished jobs, at the most", value: group.max_unfinished === null ? "" : String(group.max_unfinished), placeholder: "no limit", check: limit,
        hint: "A submit past that is refused." },
      { name: "paused", label: "Jobs are taken", type: "select", value: String(group.paused), options: [["false", "yes"], ["true", "no: paused"]] },
    ],
  });
  if (!said) return;
  const number = (/** @type {string | undefined} */ text) => (text ? Number(text) : null);
  const set = changed(group, { weight: Number(said.weight), max_running: number(said.running), max_unfinished: number(said.unfinished),
    paused: said.paused === "true" });
  await attempt(() => send("PATCH", `groups/${part(name)}`, set), `${name} is set.`);
  after();
}

/** @param {string} name @returns {import("../app.js").Page} */
export function group(name) {
  /** @type {import("../types").Group | null} */
  let group = null;
  let foreign = false;
  /** @type {import("../types").Share | null} */
  let share = null;
  /** @type {import("../types").Shares | null} */
  let shares = null;
  /** @type {import("../types").Job[]} */
  let recent = [];
  const search = new Search(15);
  /** How many of its jobs have failed and are kept. @type {import("../types").Count | null} */
  let failed = null;
  const look = async (/** @type {AbortSignal} */ signal) => {
    group = seesAll() || name === me().group ? await maybe(`groups/${part(name)}`, {}, signal) : null;
    foreign = group === null;
    if (foreign) return;
    const [all, some] = await Promise.all([maybe("shares", { minutes: 10, limit: 1000, search: name }, signal),
      get("jobs", { group: name, state: "failed", limit: 1, count: true }, signal)]);
    shares = all;
    share = all?.groups.find((/** @type {any} */ one) => one.group === name) ?? null;
    failed = some.count ?? null;
    redraw();
    if (!search.rests) {
      const shown = recent.length > 0;
      recent = (await search.find({ group: name }, null, signal, shown ? null : (found) => {
        recent = found.jobs;
        redraw();
      })).jobs;
    }
  };
  const again = () => void look(new AbortController().signal).catch(() => {});
  const pause = async (/** @type {boolean} */ paused) => {
    const said = paused ? await ask({ title: `Pause ${name}?`, text: "No further job of it is taken; those that run go on.", confirm: `Pause ${name}`, refuse: "Leave it",
      fields: [{ name: "note", label: "Why", hint: "For whoever finds it paused. May be left empty." }] }) : {};
    if (!said) return;
    await attempt(() => send("PATCH", `groups/${part(name)}`, { paused, ...(said.note ? { note: said.note } : {}) }), paused ? `${name} is paused.` : `${name} is resumed.`);
    again();
  };
  const tile = (/** @type {string} */ title, /** @type {import("../view.js").Kid} */ value, /** @type {import("../view.js").Kid} */ below, kind = "") =>
    h("div", { class: `tile ${kind}` }, h("h2", null, title), h("div", { class: "value" }, value), h("div", { class: "below" }, below));
  const view = () => {
    if (foreign) return empty("There is no such group", "Or it is not for this token.");
    if (!group) return h("div", { class: "skeleton" });
    return [
      h("section", { class: "jobhead" },
        h("div", { class: "names" }, h("div", { class: "line" }, h("h2", null, name), group.paused && mark("warning", "paused"),
          share?.noisy && mark("warning", "noisy", "more than its share while others wait"), share?.harmed && mark("critical", "harmed", "waits longer than one rotation")),
        h("div", { class: "line muted" }, link(to.jobs(term("group", name)), "Its jobs"), link(to.jobs(`state:failed ${term("group", name)}`), "Those that failed"),
          beyond("group", { group: name }, "More about this group"))),
        h("div", { class: "actions" },
          mayOperate() && (group.paused ? button("Resume", () => void pause(false), { kind: "primary", icon: "play" }) : button("Pause …", () => void pause(true), { icon: "pause" })),
          mayOperate() && button("Set weight and limits …", () => void edit(name, again)))),
      h("div", { class: "tiles" },
        tile("Ready", link(to.jobs(`state:waiting ${term("group", name)}`), count(group.ready)), group.parked > 0 ? `${count(group.parked)} parked` : "jobs that could start"),
        tile("Running", count(group.held), group.max_running === null ? (group.max_share ? `at most ${group.max_share} % of the slots` : "no limit") : `at most ${count(group.max_running)}`),
        share && tile("Share used", percent(share.used), [bar(share.used, share.entitled, share.noisy ? "noisy" : share.harmed ? "harmed" : "", Math.max(share.used, share.entitled, 0.01)), `entitled to ${percent(share.entitled)}, last 10 min`]),
        share && tile("Waits", duration(share.wait_p50_ms), `half of its jobs less; 95 % less than ${duration(share.wait_p95_ms)}`, share.harmed ? "bad" : ""),
        share && tile("Oldest ready", duration(share.oldest_ready_ms), shares?.rotation_ms ? `one rotation takes ${duration(shares.rotation_ms)}` : ""),
        tile("Failed", failed === null ? "–" : link(to.jobs(`state:failed ${term("group", name)}`), `${count(failed.jobs)}${failed.more ? "+" : ""}`), "that are kept", failed && failed.jobs > 0 ? "bad" : "")),
      h("div", { class: "columns" },
        card("Latest jobs", recent.length === 0 ? empty("It has no jobs yet", "Submit one by the API or the command line, or a test job from here.",
          maySubmit() && button("Submit a test job", () => void testJobs(again), { kind: "primary", icon: "play" }))
          : h("ul", { class: "children" }, recent.map((job) => h("li", { key: job.id }, state(job), link(to.job(job.id), h("strong", null, job.task), " ", job.subject ?? h("span", { class: "mono" }, brief(job.id))),
            job.state === "running" && progress(job.progress), ago(job.submitted)))), link(to.jobs(term("group", name)), "All of them")),
        card("Settings", facts([
          ["Weight", count(group.weight)],
          ["Runs at a time", group.max_running === null ? (group.max_share ? `at most ${group.max_share} % of the slots of each executor` : "as many as there are slots") : `at most ${count(group.max_running)}`],
          ["Unfinished", group.max_unfinished === null ? "any number" : `at most ${count(group.max_unfinished)}`],
          ["Paused", group.paused ? "yes: no further job is taken" : "no"],
          ["Ended jobs kept", kept(group.retention, "as for their tasks")],
          group.set ? ["Set by", [group.set.by, " ", ago(group.set.at), group.set.note && `: ${group.set.note}`]] : null,
          ["Items waiting", count(group.items)],
          ["Oldest unfinished", ago(group.oldest)],
        ]))),
    ];
  };
  return { title: "Group", interest: seesAll() ? null : { group: name }, look, view };
}
