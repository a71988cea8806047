// The log of a job, as it is written, with a search.

import { h, redraw } from "../view.js";
import { part } from "../api.js";
import { follow } from "../live.js";
import { count, exactly, many } from "../format.js";
import { button } from "../parts.js";

/** @typedef {import("../types").Line} Line */

/** So many lines are kept: the server keeps no more of one job. */
const KEPT = 10_000;
/** So many are shown at a time, the newest. */
const SHOWN = 500;
const LEVELS = ["trace", "debug", "info", "warn", "error"];
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/** @param {string} id */
export function log(id) {
  /** @type {Line[]} */
  let lines = [];
  let find = "";
  let least = "trace";
  let shown = SHOWN;
  let newest = true;
  let over = false;
  let failures = 0;
  const stop = new AbortController();

  const hear = (/** @type {import("../live.js").Told} */ told) => {
    if (told.event === "end") over = true;
    if (told.event !== "line") return;
    const line = JSON.parse(told.data);
    if (line.number <= (lines[lines.length - 1]?.number ?? -1)) return;
    lines.push(line);
    if (lines.length > KEPT) lines = lines.slice(-KEPT);
    redraw();
  };
  const connect = () => {
    if (stop.signal.aborted) return;
    const again = () => {
      redraw();
      if (!over && !stop.signal.aborted) setTimeout(connect, Math.min(15_000, 1000 * 2 ** failures++));
    };
    over = false;
    const last = lines[lines.length - 1];
    const open = () => {
      failures = 0;
    };
    follow(`api/v1/jobs/${part(id)}/logs`, { follow: true }, stop.signal, hear, { last: last ? String(last.number) : null, open }).then(again, again);
  };
  connect();

  /** Marks what is looked for. @param {string} text */
  const marked = (text) => {
    if (!find) return text;
    const parts = [];
    const [low, wanted] = [text.toLowerCase(), find.toLowerCase()];
    let from = 0;
    for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
      parts.push(text.slice(from, at), h("mark", null, text.slice(at, at + find.length)));
      from = at + find.length;
    }
    return [...parts, text.slice(from)];
  };

  return {
    stop: () => stop.abort(),
    /** The job runs again, or has ended: there may be more. */
    wake() {
      if (over) connect();
    },
    view() {
      const found = lines.filter((line) => LEVELS.indexOf(line.level) >= LEVELS.indexOf(least) && (!find || line.message.toLowerCase().includes(find.toLowerCase())));
      const some = found.slice(-shown);
      return h("div", { class: "log" },
        h("div", { class: "toolbar" },
          h("input", { type: "search", placeholder: "Search the log", "aria-label": "Search the log", oninput: (/** @type {Event} */ event) => {
            find = /** @type {HTMLInputElement} */ (event.target).value;
            redraw();
          } }),
          h("select", { "aria-label": "Least level", onchange: (/** @type {Event} */ event) => {
            least = /** @type {HTMLSelectElement} */ (event.target).value;
            redraw();
          } }, LEVELS.map((level) => h("option", { value: level, selected: level === least }, level === "trace" ? "all levels" : `${level} and worse`))),
          h("label", null, h("input", { type: "checkbox", checked: newest, onchange: () => {
            newest = !newest;
            redraw();
          } }), "follow"),
          h("span", { class: "muted" }, `${find || least !== "trace" ? `${count(found.length)} of ` : ""}${many(lines.length, "line")}`)),
        lines.length === 0
          ? h("p", { class: "muted" }, over ? "It has written nothing." : "It has written nothing yet.")
          : h("ol", { class: "lines", tabindex: 0, "aria-label": "Log", "data-follow": newest ? "yes" : "no", made: scroll, },
            found.length > some.length && h("li", { key: "earlier" }, button(`Show ${count(Math.min(SHOWN, found.length - some.length))} earlier lines`, () => {
              shown += SHOWN;
              redraw();
            }, { kind: "small" })),
            some.map((line) => h("li", { key: line.number, class: line.level },
              h("time", { datetime: line.time, title: `${exactly(line.time)}\nattempt ${line.attempt}` }, clock.format(new Date(line.time))),
              h("b", null, line.level), h("span", null, marked(line.message))))));
    },
  };
}

/** Keeps the end in view while lines are added, as long as the reader wants it. @param {HTMLElement} list */
function scroll(list) {
  const down = () => {
    if (list.dataset.follow === "yes") list.scrollTop = list.scrollHeight;
  };
  down();
  new MutationObserver(down).observe(list, { childList: true });
}
