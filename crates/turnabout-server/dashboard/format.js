// Numbers and times in words, the same everywhere.

import { h } from "./view.js";
import { now } from "./session.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

/** @param {number | null | undefined} n */
export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));

/** One job, two jobs. @param {number} n @param {string} noun */
export const many = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** @param {number | null | undefined} share */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const hundred = share * 100;
  return `${hundred > 0 && hundred < 9.95 ? tenth.format(hundred) : whole.format(hundred)} %`;
}

/** So many a second. @param {number} n */
export function rate(n) {
  if (n === 0) return "0";
  if (n < 0.1) return "< 0.1";
  return n < 100 ? tenth.format(n) : whole.format(n);
}

/** A length of time. @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${tenth.format(s)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const pair = (/** @type {number} */ a, /** @type {string} */ x, /** @type {number} */ b, /** @type {string} */ y) =>
    b === 0 ? `${a} ${x}` : `${a} ${x} ${b} ${y}`;
  if (s < 3600) return pair(Math.floor(s / 60), "min", Math.floor(s % 60), "s");
  if (s < 86_400) return pair(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return pair(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
}

/** How long ended jobs are kept, by how they ended. @param {import("./types").Retention | undefined} times @param {string} otherwise */
export function kept(times, otherwise) {
  const said = Object.entries({ success: times?.success_seconds, failed: times?.failed_seconds, cancelled: times?.cancelled_seconds })
    .filter(([, seconds]) => seconds !== null && seconds !== undefined)
    .map(([state, seconds]) => `${state} ${seconds === 0 ? "not at all" : duration(Number(seconds) * 1000)}`);
  return said.length === 0 ? otherwise : said.join(", ");
}

/** How long ago, in milliseconds. @param {string | null | undefined} time */
export const since = (time) => (time ? Math.max(0, now() - Date.parse(time)) : null);

/** A moment in the reader's time zone: only the clock if it is today. @param {string | number} time */
export function moment(time) {
  const date = new Date(time);
  return date.toDateString() === new Date(now()).toDateString() ? clock.format(date) : day.format(date);
}

/** What is said of a moment when one points at it: here, and in UTC. @param {string | number} time */
export function exactly(time) {
  const date = new Date(time);
  return `${full.format(date)}\n${date.toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

/** A moment. @param {string | null | undefined} time @param {string} [none] */
export const at = (time, none = "–") =>
  time ? h("time", { datetime: time, title: exactly(time) }, moment(time)) : none;

/** How long ago a moment is. @param {string | null | undefined} time @param {string} [none] */
export const ago = (time, none = "–") =>
  time ? h("time", { datetime: time, title: exactly(time) }, `${duration(since(time))} ago`) : none;

/** How old something is, without "ago". @param {string | null | undefined} time @param {string} [none] */
export const age = (time, none = "–") =>
  time ? h("time", { datetime: time, title: exactly(time) }, duration(since(time))) : none;

/** How long until a moment. @param {string | null | undefined} time @param {string} [none] */
export function until(time, none = "–") {
  if (!time) return none;
  const left = Date.parse(time) - now();
  return h("time", { datetime: time, title: exactly(time) }, left > 0 ? `in ${duration(left)}` : "due");
}

/** The beginning of an id, enough to tell it from others on a page. @param {string} id */
export const brief = (id) => id.slice(-12);
