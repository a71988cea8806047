// The page as a whole: which part is shown, what stands around it, the keyboard, and who has signed in.

import { h, onDraw, redraw, render } from "./view.js";
import { Problem, forget, get, onRefused } from "./api.js";
import { Live } from "./live.js";
import { isKnown, keep, me, seesAll, welcome } from "./session.js";
import { ask, messages, sentence } from "./dialog.js";
import { behind, resume } from "./bulk.js";
import { isId } from "./filter.js";
import { absent, icon, to } from "./parts.js";
import { signIn } from "./pages/signin.js";
import { now } from "./pages/now.js";
import { fairness } from "./pages/fairness.js";
import { jobs } from "./pages/jobs.js";
import { job } from "./pages/job.js";
import { failures } from "./pages/failures.js";
import { tasks } from "./pages/tasks.js";
import { task } from "./pages/task.js";
import { groups } from "./pages/groups.js";
import { group } from "./pages/group.js";
import { queues } from "./pages/queues.js";
import { executors } from "./pages/executors.js";
import { schedules } from "./pages/schedules.js";
import { schedule } from "./pages/schedule.js";
import { audit } from "./pages/audit.js";

/**
 * A part of the page. `interest` says of which jobs it wants to hear: all (`{}`), some, or none (null).
 * @typedef {{ title: string, interest: import("./api.js").Query | null, look: (signal: AbortSignal) => Promise<void>,
 *   told?: (job: import("./types").Brief) => void, view: () => import("./view.js").Kid, stop?: () => void }} Page
 * @typedef {{ hash: string, path: string, name: string, part: string | null, query: URLSearchParams }} Route
 */

/** The parts by name; the second is for one of them. @type {Record<string, [(route: Route) => Page, ((name: string, route: Route) => Page)?]>} */
const PAGES = {
  now: [now],
  fairness: [fairness],
  jobs: [jobs, job],
  failures: [failures],
  tasks: [tasks, task],
  groups: [groups, group],
  queues: [queues],
  executors: [executors],
  schedules: [schedules, schedule],
  audit: [audit],
};

/** What stands at the side: name, title, key, and whether those who see one group alone have it. @type {[string, string, string, boolean][][]} */
const MENU = [
  [["now", "Now", "n", false], ["fairness", "Fairness", "f", false], ["jobs", "Jobs", "j", true], ["failures", "Failures", "e", true]],
  [["tasks", "Tasks", "t", false], ["groups", "Groups", "g", true], ["queues", "Queues", "q", false],
    ["executors", "Executors", "x", false], ["schedules", "Schedules", "s", true]],
  [["audit", "Audit", "a", false]],
];

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
/** @type {Page | null} */
let page = null;
/** @type {Route} */
let route = read();
let leaving = new AbortController();
let signedOut = false;
let open = false;
/** @type {{ mood: import("./live.js").Mood, why: string }} */
let mood = { mood: "polling", why: "connecting" };
/** @type {string | null} */
let trouble = null;
let loaded = false;

const live = new Live({
  async look() {
    const mine = page;
    if (!mine) return;
    try {
      await mine.look(leaving.signal);
      if (mine !== page) return;
      trouble = null;
      loaded = true;
    } catch (error) {
      if (mine !== page) return;
      if (error instanceof Problem && error.status !== 0 && error.status !== 429) {
        trouble = sentence(error.message);
        loaded = true;
      } else if (error instanceof Problem) {
        throw error;
      } else if (!(error instanceof DOMException && error.name === "AbortError")) {
        trouble = "The page itself has failed; the browser's console says more.";
        console.error(error);
      }
    } finally {
      redraw();
    }
  },
  told(job) {
    page?.told?.(job);
  },
  mood(now, why) {
    mood = { mood: now, why };
    redraw();
  },
});

/** What the address names. @returns {Route} */
function read() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [name = "", rest] = path.split(/\/(.*)/s);
  let part = null;
  try {
    part = rest ? decodeURIComponent(rest) : null;
  } catch {
    part = rest ?? null;
  }
  return { hash: location.hash, path, name: name || "now", part, query: new URLSearchParams(query) };
}

/** Shows what the address names. */
function go() {
  route = read();
  open = false;
  if (!isKnown()) return redraw();
  // Those who see one group alone begin with it.
  if (route.path === "" && !seesAll()) {
    location.replace(to.group(me().group ?? ""));
    return;
  }
  leaving.abort();
  leaving = new AbortController();
  page?.stop?.();
  const [all, one] = PAGES[route.name] ?? [now];
  const [, title = "Now", , everyone] = MENU.flat().find(([name]) => name === route.name) ?? [];
  if (!everyone && !seesAll()) page = { title, interest: null, look: async () => {}, view: () => absent(title) };
  else page = route.part !== null && one ? one(route.part, route) : all(route);
  document.title = `${page.title} · Turnabout`;
  trouble = null;
  loaded = false;
  live.start(page.interest);
  redraw();
}

/** Finds out who reads, and begins. @param {string | null} [given] */
async function begin(given) {
  if (given !== undefined) keep(given);
  try {
    welcome(await get("me"));
    signedOut = false;
    go();
    void resume();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) {
      leave();
    } else {
      mood = { mood: "offline", why: "the server does not answer; trying again" };
      setTimeout(() => void begin(), 2000);
    }
    if (given !== undefined) throw error;
  } finally {
    redraw();
  }
}

/** Forgets the token, and everything that was shown. */
function leave() {
  live.stop();
  leaving.abort();
  page?.stop?.();
  page = null;
  keep(null);
  welcome(null);
  forget();
  signedOut = true;
  redraw();
}

/** @param {string} text */
function search(text) {
  const wanted = text.trim();
  if (wanted === "") return;
  location.hash = isId(wanted) ? to.job(wanted) : to.jobs(wanted);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const next = { auto: dark ? "light" : "dark", light: "dark", dark: "light" }[document.documentElement.dataset.theme ?? "auto"] ?? "auto";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("turnabout.theme", next);
}

async function help() {
  const keys = [...MENU.flat().map(([, title, key]) => [`g ${key}`, title]), ["/", "Search"], ["?", "This list"]];
  await ask({
    title: "Keyboard",
    text: h("dl", { class: "keys" }, keys.map(([key, what]) =>
      h("div", null, h("dt", null, (key ?? "").split(" ").map((one) => h("kbd", null, one))), h("dd", null, what)))),
    confirm: "Good",
  });
}

let chord = 0;
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog") || !isKnown()) return;
  if (event.key === "/") {
    event.preventDefault();
    /** @type {HTMLInputElement | null} */ (document.querySelector("#filter, #search"))?.focus();
  } else if (event.key === "?") {
    void help();
  } else if (event.key === "g" && Date.now() - chord > 1500) {
    chord = Date.now();
  } else if (Date.now() - chord <= 1500) {
    chord = 0;
    const found = MENU.flat().find(([, , key, everyone]) => key === event.key && (everyone || seesAll()));
    if (found) location.hash = `#/${found[0]}`;
  }
});

const side = () => h("aside", { class: open ? "side open" : "side" },
  h("a", { class: "brand", href: "#/" }, h("img", { src: "dashboard/icon.svg", alt: "", width: 22, height: 22 }), "Turnabout"),
  h("nav", { "aria-label": "Pages" }, MENU.map((section) =>
    h("ul", null, section.filter(([, , , everyone]) => everyone || seesAll()).map(([name, title, key]) =>
      h("li", null, h("a", { href: `#/${name === "now" ? "" : name}`, "aria-current": route.name === name ? "page" : undefined,
        title: `${title} (g ${key})` }, icon(/** @type {any} */ (name)), title)))))),
  h("footer", null,
    h("div", { class: "who", title: `role: ${me().role}` }, h("span", null, me().name), h("small", null,
      me().group === null ? me().role : [me().group, me().owner].filter(Boolean).join(" / "))),
    h("div", { class: "tools" },
      h("button", { type: "button", title: "Dark or light", "aria-label": "Dark or light", onclick: theme }, icon("theme")),
      me().token && h("button", { type: "button", title: "Sign out", "aria-label": "Sign out", onclick: leave }, icon("leave")),
      h("a", { href: "api/docs", title: "The API, described" }, `v${me().version}`))));

const WORDS = { live: "Live", polling: "Polling", offline: "Offline" };

const top = (/** @type {Page} */ shown) => h("header", { class: "top" },
  h("button", { type: "button", class: "menu", "aria-label": "Menu", "aria-expanded": String(open), onclick: () => {
    open = !open;
    redraw();
  } }, icon("menu")),
  h("h1", null, shown.title),
  h("form", { class: "search", role: "search", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const input = /** @type {HTMLInputElement} */ (document.getElementById("search"));
    search(input.value);
    input.value = "";
    input.blur();
  } }, icon("search"), h("input", { id: "search", type: "search", autocomplete: "off", placeholder: "Find a job: id, group:acme, words …",
    "aria-label": "Find jobs by id, filter or subject" }), h("kbd", { "aria-hidden": "true" }, "/")),
  h("span", { class: `mood ${mood.mood}`, role: "status", title: mood.why }, WORDS[mood.mood]));

function show() {
  if (signedOut) return render(root, signIn(begin), messages());
  if (!page) {
    return render(root, h("div", { class: "starting", role: "status" },
      mood.mood === "offline" ? "The server does not answer. Trying again …" : "One moment …"));
  }
  render(root,
    h("button", { type: "button", class: "skip", onclick: () => document.getElementById("main")?.focus() }, "Skip to content"),
    side(),
    h("div", { class: "body" }, top(page),
      mood.mood === "offline" && h("div", { class: "banner bad", role: "alert" }, "The server does not answer. What is shown is how it was; trying again …"),
      trouble && h("div", { class: "banner bad", role: "alert" }, trouble),
      h("main", { id: "main", key: route.path, "data-page": route.hash, tabindex: -1, "aria-busy": String(!loaded) }, page.view())),
    open && h("div", { class: "veil", onclick: () => {
      open = false;
      redraw();
    } }),
    behind(), messages());
}

onDraw(show);
onRefused(() => {
  if (isKnown()) leave();
});
addEventListener("hashchange", go);
document.addEventListener("visibilitychange", () => {
  if (!page) return;
  if (document.hidden) live.stop();
  else live.start(page.interest);
});
// Times tell how long ago something was.
setInterval(() => {
  if (!document.hidden && page) redraw();
}, 1000);
document.documentElement.dataset.theme = localStorage.getItem("turnabout.theme") ?? "auto";
void begin();
