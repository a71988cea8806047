// Changes of many jobs: first how many there are, then a question that names the number, then the work in the background,
// with its progress, until it is done or stopped.

import { h, redraw } from "./view.js";
import { Problem, maybe, part, send } from "./api.js";
import { ask, sentence, tell } from "./dialog.js";
import { count, many } from "./format.js";

/** @typedef {"cancel" | "restart" | "delete" | "retry" | "priority"} Verb */
/** @typedef {{ query: Record<string, string>, text: string }} Chosen */
/** @typedef {import("./types").Operation} Operation */
/** @typedef {Omit<Operation, "id"> & { id: string | null, title: string, after?: () => void }} Work */

/** How often the server is asked how far it is. */
const ASK = 500;

/** What is done, and to which jobs that can be. @type {Record<Verb, { title: string, doing: string, past: string, which: string }>} */
const WORDS = {
  cancel: { title: "Cancel", doing: "Cancelling", past: "cancelled", which: "unfinished" },
  restart: { title: "Restart", doing: "Restarting", past: "restarted", which: "ended" },
  delete: { title: "Delete", doing: "Deleting", past: "deleted", which: "ended" },
  retry: { title: "Try", doing: "Trying", past: "made ready", which: "stuck or delayed" },
  priority: { title: "Change", doing: "Changing", past: "changed", which: "waiting" },
};

/** What goes on. @type {Work[]} */
let works = [];

/**
 * Asks, and does it. Resolves when it is over.
 * @param {Verb} verb @param {Chosen} chosen @param {{ priority?: string, after?: () => void, note?: string, pace?: number }} [more]
 */
export async function change(verb, chosen, more = {}) {
  const words = WORDS[verb];
  const named = "ids" in chosen.query;
  const request = { action: verb, filter: chosen.query, ...(Object.keys(chosen.query).length === 0 ? { all: true } : {}),
    ...(more.priority ? { priority: more.priority } : {}) };
  try {
    const found = await send("POST", "jobs/bulk", { ...request, dry_run: true });
    if (found.matched === 0) return tell(`None of these jobs can be ${words.past}: none is ${words.which}.`, "bad");
    const jobs = found.more ? `more than ${many(found.matched, "job")}` : many(found.matched, "job");
    const to = more.priority ? ` to ${more.priority} priority` : verb === "retry" ? " now" : "";
    const said = await ask({
      title: `${words.title} ${jobs}${to}?`,
      text: [
        h("p", null, chosen.text ? ["Those that match ", h("code", null, chosen.text), ` and are ${words.which}.`]
          : `Those that you have selected and that are ${words.which}.`),
        more.note && h("p", null, more.note),
        verb === "delete" && h("p", null, "Deleted jobs are gone, with their logs and results."),
        verb === "cancel" && h("p", null, "Jobs that run are told to stop. Cancelled jobs can be restarted."),
      ],
      confirm: `${words.title} ${jobs}${to}`,
      refuse: "Leave them",
      danger: verb === "delete" || verb === "cancel",
      fields: [{ name: "note", label: "Why", hint: "For the audit. May be left empty." }],
    });
    if (!said) return;
    const order = { ...request, ...(said.note ? { note: said.note } : {}) };
    if (named) {
      done({ ...(await send("POST", "jobs/bulk", order)), action: verb, state: "done", error: null });
      more.after?.();
    } else {
      const pace = more.pace ? { pace: more.pace } : {};
      await follow(await send("POST", "jobs/bulk", { ...order, ...pace, background: true }), more.after);
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status !== 401) tell(sentence(error.message), "bad");
  }
}

/** Says what came of it. @param {Pick<Operation, "action" | "changed" | "skipped" | "state" | "error">} over */
function done(over) {
  const words = WORDS[/** @type {Verb} */ (over.action)] ?? WORDS.priority;
  const skipped = over.skipped > 0 ? ` ${many(over.skipped, "job")} had changed meanwhile, and stayed.` : "";
  const end = over.state === "stopped" ? " It was stopped before the end." : over.state === "failed" ? ` It failed: ${over.error}` : "";
  tell(`${many(over.changed, "job")} ${over.changed === 1 ? "was" : "were"} ${words.past}.${skipped}${end}`, over.state === "failed" ? "bad" : "good");
}

/** Watches what the server does in the background. @param {Operation} begun @param {() => void} [after] */
async function follow(begun, after) {
  let work = begun;
  while (work.state === "running") {
    works = [...works.filter((one) => one.id !== work.id), { ...work, title: WORDS[/** @type {Verb} */ (work.action)]?.doing ?? work.action }];
    redraw();
    await new Promise((go) => setTimeout(go, ASK));
    const now = await maybe(`operations/${part(work.id)}`).catch(() => work);
    if (now === null) break;
    work = now;
  }
  works = works.filter((one) => one.id !== work.id);
  done(work);
  after?.();
  redraw();
}

/** Finds what this reader, or another, has begun before. */
export async function resume() {
  const all = await maybe("operations").catch(() => null);
  for (const one of all?.operations ?? []) if (one.state === "running") void follow(one);
}

/** What goes on behind. */
export const behind = () =>
  works.length > 0 && h("div", { class: "works", role: "status", "aria-live": "polite" }, works.map((work) => {
    const all = work.more ? null : Math.max(1, work.matched);
    return h("div", { key: work.id, class: "work" },
      h("div", null, h("strong", null, `${work.title} ${work.more ? "more than " : ""}${many(work.matched, "job")}`), h("span", null, `${count(work.changed)} done`)),
      h("span", { class: all === null ? "bar endless" : "bar" },
        h("span", { style: { width: all === null ? "30%" : `${Math.min(100, ((work.changed + work.skipped) / all) * 100)}%` } })),
      h("button", { type: "button", class: "button small", onclick: () => void send("POST", `operations/${part(work.id ?? "")}/stop`).catch(() => {}) }, "Stop"));
  }));
