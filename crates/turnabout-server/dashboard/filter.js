// Which jobs, as a line of text: `group:acme state:failed task:ocr age>1h invoice`. The same text stands in the address of
// the page, and becomes the query of the API.

import { now } from "./session.js";

/** @typedef {{ name: string, value: string, text: string }} Term */

export const STATES = ["waiting", "scheduled", "running", "stuck", "success", "failed", "cancelled"];
const NAMES = ["state", "task", "group", "owner", "queue", "id", "reason", "code", "parent", "executor", "attempts"];
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UNITS = { ms: 1, s: 1000, sec: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** @param {string} text */
export const isId = (text) => ID.test(text.trim());

/** The parts of a filter. Words that are no filters are looked for in subjects. @param {string} text @returns {Term[]} */
export function terms(text) {
  /** @type {Term[]} */
  const found = [];
  for (const [part] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) {
    const named = /^(\w+)([:<>])(.*)$/s.exec(part);
    const value = (/** @type {string} */ raw) => raw.replaceAll('"', "");
    if (named && named[2] === ":" && NAMES.includes(named[1] ?? "")) {
      found.push({ name: named[1] ?? "", value: value(named[3] ?? ""), text: part });
    } else if (named && named[1] === "age" && named[2] !== ":") {
      found.push({ name: `age${named[2]}`, value: value(named[3] ?? ""), text: part });
    } else {
      found.push({ name: isId(part) ? "id" : "search", value: value(part), text: part });
    }
  }
  return found;
}

/** One term, quoted if it has to be. @param {string} name @param {string} value */
export const term = (name, value) => `${name}:${/[\s"]/.test(value) || value === "" ? `"${value.replaceAll('"', "")}"` : value}`;

/** @param {string} text @returns {number | null} */
function length(text) {
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text);
  const unit = UNITS[/** @type {keyof typeof UNITS} */ (parts?.[2])];
  return parts && unit ? Number(parts[1]) * unit : null;
}

/**
 * What the API is asked, or why it cannot be.
 * @param {string} text @returns {{ query: Record<string, string>, wrong: string | null }}
 */
export function meaning(text) {
  /** @type {Record<string, string>} */
  const query = {};
  let wrong = null;
  /** @type {string[]} */
  const words = [];
  for (const { name, value } of terms(text)) {
    if (name === "search") {
      words.push(value);
    } else if (name === "age>" || name === "age<") {
      const ms = length(value);
      if (ms === null) wrong = `“${value}” is no length of time; write it as 90s, 5m, 1h or 2d`;
      else query[name === "age>" ? "until" : "since"] = new Date(now() - ms).toISOString();
    } else if (value === "") {
      wrong = `“${name}:” needs a value`;
    } else if (name === "id") {
      if (isId(value)) query.ids = query.ids ? `${query.ids},${value}` : value;
      else wrong = `“${value}” is no job's id`;
    } else if (name === "state") {
      const odd = value.split(",").find((word) => !STATES.includes(word.replace(/^!/, "")));
      if (odd !== undefined) wrong = `“${odd}” is no state; there are ${STATES.join(", ")}`;
      query.state = query.state ? `${query.state},${value}` : value;
    } else if ((name === "parent" || name === "executor") && !isId(value)) {
      wrong = `“${value}” is no id; “${name}:” needs a whole one`;
    } else if (name === "attempts" && !/^\d{1,9}$/.test(value)) {
      wrong = `“${value}” is no number of attempts`;
    } else {
      query[name] = value;
    }
  }
  if (words.length > 0) query.search = words.join(" ");
  return { query, wrong };
}

/** The filter without one of its terms. @param {string} text @param {Term} gone */
export function without(text, gone) {
  return terms(text).filter((one) => one.text !== gone.text).map((one) => one.text).join(" ");
}

/** The filter with a state added, or taken away if it is there. @param {string} text @param {string} state */
export function toggled(text, state) {
  const all = terms(text);
  const states = all.filter((one) => one.name === "state").flatMap((one) => one.value.split(","));
  const rest = all.filter((one) => one.name !== "state").map((one) => one.text);
  const wanted = states.includes(state) ? states.filter((one) => one !== state) : [...states, state];
  return [...(wanted.length > 0 ? [`state:${wanted.join(",")}`] : []), ...rest].join(" ");
}
