// Jobs: found by a filter that stands in the address, seen page by page, and changed one by one or all together.

import { h, redraw } from "../view.js";
import { get } from "../api.js";
import { change } from "../bulk.js";
import { STATES, meaning, term, terms, toggled, without } from "../filter.js";
import { age, brief, count, duration, many, since } from "../format.js";
import { Search } from "../search.js";
import { mayCancel, mayChange, maySubmit, seesAll } from "../session.js";
import { button, empty, icon, link, progress, state, table, to } from "../parts.js";
import { testJobs } from "./submit.js";

/** @typedef {import("../types").Job} Job */

const PAGE = 100;
/** @param {import("../app.js").Route} route @returns {import("../app.js").Page} */
export function jobs(route) {
  const text = route.query.get("q") ?? "";
  const { query, wrong } = meaning(text);
  /** The cursors of the pages up to this one: the first page has none. @type {(string | null)[]} */
  let cursors = [null];
  /** @type {import("../types").JobPage | null} */
  let page = null;
  /** @type {import("../types").Count | null} */
  let all = null;
  let counted = 0;
  /** @type {Set<string>} */
  const picked = new Set();
  let everything = false;
  const search = new Search(PAGE);

  const look = async (/** @type {AbortSignal} */ signal) => {
    if (wrong) return;
    if (page && page.jobs.length > 0 && (picked.size > 0 || search.rests)) {
      // What was picked must not move away, and what was costly to find is kept for a while: the same jobs, as they are now.
      const ids = page.jobs.map((job) => job.id).join(",");
      page = { ...page, jobs: (await get("jobs", { ids, limit: PAGE, brief: true }, signal)).jobs };
    } else {
      const before = cursors[cursors.length - 1];
      page = await search.find(query, before ?? null, signal, page ? null : (found) => {
        page = found;
        redraw();
      });
    }
    redraw();
    // Counting costs more than a page, so that it comes after it, and not as often.
    if (performance.now() - counted > 5000 || all === null || !all.more) {
      counted = performance.now();
      all = (await get("jobs", { ...query, limit: 1, count: true }, signal)).count ?? null;
    }
  };
  const again = () => {
    all = null;
    void look(new AbortController().signal).then(redraw, () => {});
  };
  const filter = (/** @type {string} */ wanted) => {
    location.hash = wanted.trim() === "" ? "#/jobs" : to.jobs(wanted.trim());
  };
  const turn = (/** @type {(string | null)[]} */ pages) => {
    cursors = pages;
    picked.clear();
    everything = false;
    page = null;
    redraw();
    again();
  };
  const total = () => (all ? `${all.more ? "more than " : ""}${many(all.jobs, "job")}` : "…");
  const chosen = () => (everything ? { query, text: text || "everything" } : { query: { ids: [...picked].join(",") }, text: "" });
  const act = (/** @type {import("../bulk.js").Verb} */ verb, /** @type {string} */ priority = "") =>
    void change(verb, chosen(), { after: () => {
      picked.clear();
      everything = false;
      again();
    }, ...(priority ? { priority } : {}) });

  const bar = () => h("form", { class: "filter", role: "search", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    filter(/** @type {HTMLInputElement} */ (document.getElementById("filter")).value);
  } }, icon("search"), h("input", { id: "filter", type: "search", value: text, autocomplete: "off", spellcheck: "false",
    "aria-label": "Filter", "aria-invalid": wrong ? "true" : undefined, "aria-describedby": "about-filter",
    placeholder: "group:acme state:failed task:ocr queue:gpu owner:ada age>1h words of the subject" }),
  h("button", { type: "submit", class: "button" }, "Filter"));

  const chips = () => h("div", { class: "chips", role: "group", "aria-label": "Filters" },
    STATES.map((name) => {
      const on = (query.state ?? "").split(",").includes(name);
      return h("button", { type: "button", key: name, class: `chip ${name}`, "aria-pressed": String(on), onclick: () => filter(toggled(text, name)) }, name);
    }),
    terms(text).filter((one) => one.name !== "state").map((one) => h("button", { type: "button", class: "chip on", key: one.text,
      "aria-label": `Remove ${one.text}`, onclick: () => filter(without(text, one)) }, one.text, icon("close"))));

  const selection = () => {
    const some = picked.size > 0 || everything;
    const whole = page !== null && page.jobs.length > 0 && page.jobs.every((job) => picked.has(job.id));
    return h("div", { class: some ? "selection on" : "selection" },
      h("span", { class: "total", "aria-live": "polite" }, everything ? `All that match are selected: ${total()}` : some ? `${many(picked.size, "job")} selected` : total()),
      whole && !everything && page?.next && button(`Select all that match (${total()})`, () => {
        everything = true;
        redraw();
      }, { kind: "small" }),
      some && [
        mayCancel() && button("Cancel …", () => act("cancel"), { kind: "small" }),
        maySubmit() && button("Restart …", () => act("restart"), { kind: "small" }),
        maySubmit() && button("Try now …", () => act("retry"), { kind: "small", title: "Those that are stuck or delayed need not wait" }),
        mayCancel() && button("Delete …", () => act("delete"), { kind: "small" }),
        maySubmit() && h("select", { class: "small", "aria-label": "Change priority", onchange: (/** @type {Event} */ event) => {
          const box = /** @type {HTMLSelectElement} */ (event.target);
          const wanted = box.value;
          box.value = "";
          if (wanted) act("priority", wanted);
        } }, h("option", { value: "" }, "Priority …"), ["high", "normal", "low"].map((one) => h("option", { value: one }, one))),
        button("Clear", () => {
          picked.clear();
          everything = false;
          redraw();
        }, { kind: "small quiet" }),
      ]);
  };

  const pick = (/** @type {string} */ id) => {
    everything = false;
    if (!picked.delete(id)) picked.add(id);
    redraw();
  };
  const box = (/** @type {Job} */ job) => h("input", { type: "checkbox", checked: everything || picked.has(job.id), "aria-label": `Select ${job.id}`, onchange: () => pick(job.id) });
  const time = (/** @type {Job} */ job) => {
    if (job.finished && job.started) return duration(Date.parse(job.finished) - Date.parse(job.started));
    if (job.state === "running") return duration(since(job.started));
    return "–";
  };

  const list = (/** @type {Job[]} */ rows) => table({
    name: "Jobs",
    rows,
    key: (job) => job.id,
    kind: (job) => (everything || picked.has(job.id) ? "picked" : ""),
    columns: [
      mayChange() && { title: "", kind: "box", cell: box },
      { title: "State", cell: (job) => [state(job), job.state === "running" && progress(job.progress, `${job.progress} %`)] },
      { title: "Job", kind: "main", cell: (job) => [link(to.job(job.id), h("strong", null, job.task), " ", job.subject ?? h("span", { class: "mono" }, brief(job.id))),
        (job.error_message ?? job.error ?? job.step) && h("small", { class: job.error ? "error" : "" }, job.state === "running" ? job.step : (job.error_message ?? job.error ?? job.step)),
        seesAll() && h("small", { class: "narrow" }, job.group)] },
      seesAll() && { title: "Group", kind: "wide", cell: (job) => [link(to.jobs(term("group", job.group)), job.group), job.owner && h("small", null, job.owner)] },
      { title: "Priority", kind: "wide", cell: (job) => job.priority },
      { title: "Attempts", kind: "num wide", cell: (job) => count(job.attempts) },
      { title: "Ran", kind: "num wide", cell: time },
      { title: "Age", kind: "num", cell: (job) => age(job.submitted) },
    ],
  });

  const view = () => [
    bar(),
    h("p", { id: "about-filter", class: "wrong", role: wrong ? "alert" : undefined }, wrong && `${wrong}.`),
    chips(),
    mayChange() && !wrong && h("div", { class: "picker" },
      h("label", null, h("input", { type: "checkbox", "aria-label": "Select all jobs of this page",
        checked: page !== null && page.jobs.length > 0 && page.jobs.every((job) => picked.has(job.id)),
        indeterminate: picked.size > 0 && page !== null && !page.jobs.every((job) => picked.has(job.id)),
        onchange: (/** @type {Event} */ event) => {
          everything = false;
          for (const job of page?.jobs ?? []) {
            if (/** @type {HTMLInputElement} */ (event.target).checked) picked.add(job.id);
            else picked.delete(job.id);
          }
          redraw();
        } })), selection()),
    !mayChange() && h("p", { class: "total" }, total()),
    !wrong && !page && h("div", { class: "skeleton" }),
    search.going && h("p", { class: "muted", role: "status" }, "Looking through older jobs …"),
    page && page.jobs.length === 0 && !search.going && cursors.length === 1 && (text
      ? empty("No job matches", "Take a filter away, or look at all jobs.", button("Show all jobs", () => filter("")))
      : empty("There are no jobs yet", "Submit one by the API, the command line or a library; or a test job from here.",
        maySubmit() && button("Submit a test job", () => void testJobs(again), { kind: "primary", icon: "play" }))),
    page && page.jobs.length > 0 && list(page.jobs),
    page && (cursors.length > 1 || page.next) && h("nav", { class: "pager", "aria-label": "Pages of jobs" },
      button("Newest", () => turn([null]), { disabled: cursors.length === 1 }),
      button("Newer", () => turn(cursors.slice(0, -1)), { disabled: cursors.length === 1, icon: "left" }),
      h("span", null, `page ${cursors.length}`),
      button("Older", () => page?.next && turn([...cursors, page.next]), { disabled: !page.next, icon: "right" })),
  ];

  const told = (/** @type {import("../types").Brief} */ brief) => {
    const job = page?.jobs.find((one) => one.id === brief.id);
    if (job) {
      Object.assign(job, brief);
      redraw();
    }
  };
  return { title: "Jobs", interest: query.group && seesAll() ? { group: query.group } : {}, look, told, view };
}
