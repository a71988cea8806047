// Who reads the page: the token, what it allows, and the server's clock. The token is kept for as long as the tab is open,
// goes out in a header only, and stands in no address.

/** @typedef {import("./types").Me} Me */

const KEY = "turnabout.token";

/** @type {Me | null} */
let reader = null;
/** By how many milliseconds the server's clock is ahead of ours. */
let ahead = 0;

/** @returns {string | null} */
export const token = () => sessionStorage.getItem(KEY);

/** @param {string | null} value */
export function keep(value) {
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/** @param {Me | null} me */
export function welcome(me) {
  reader = me;
  if (me) ahead = Date.parse(me.time) - Date.now();
}

/** Who reads. @returns {Me} */
export function me() {
  if (!reader) throw new Error("nobody has signed in");
  return reader;
}

export const isKnown = () => reader !== null;

/** Whether the reader sees everything, and not one group alone. */
export const seesAll = () => reader !== null && reader.group === null;

/** Whether the reader may change what is set for groups, tasks and executors. */
export const mayOperate = () => may("operate");

/** Whether the reader may submit and restart jobs, and change schedules. */
export const maySubmit = () => may("submit");

/** Whether the reader may cancel and delete jobs. */
export const mayCancel = () => may("cancel");

/** Whether the reader may change jobs. */
export const mayChange = () => maySubmit() || mayCancel();

/** @param {import("./types").Scope} scope */
const may = (scope) => reader !== null && reader.scopes.includes(scope);

/** The time by the server's clock, in milliseconds. */
export const now = () => Date.now() + ahead;

/**
 * An address of another program, from the configuration. None unless one is set and all its parts are known.
 * @param {keyof import("./types").Links} kind @param {Record<string, string | null | undefined>} about
 * @returns {string | null}
 */
export function outside(kind, about) {
  const template = reader?.links[kind];
  if (!template) return null;
  let known = true;
  const address = template.replace(/\{(\w+)\}/g, (all, name) => {
    if (!(name in about)) return all;
    const value = about[name];
    if (!value) known = false;
    return encodeURIComponent(value ?? "");
  });
  return known && /^https?:\/\//.test(address) ? address : null;
}
