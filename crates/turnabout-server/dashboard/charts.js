// Charts: lines and stacked areas over time, as SVG. Labels are HTML beside them, so that text is never stretched.

import { h, redraw } from "./view.js";
import { exactly, moment } from "./format.js";

/** @typedef {import("./view.js").Kid} Kid */
/** @typedef {{ at: number, values: number[] }} Point */
/** @typedef {{ name: string, color: string, area?: boolean, dashed?: boolean }} Series */

const [WIDE, HIGH] = [1000, 100];

/** What the reader points at. @type {{ chart: string, index: number } | null} */
let pointed = null;

/** A round number that is not below. @param {number} n */
function ceiling(n) {
  if (n <= 1) return 1;
  const ten = 10 ** Math.floor(Math.log10(n));
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (step * ten >= n) return step * ten;
  return n;
}

/**
 * @param {{ id: string, name: string, points: Point[], series: Series[], stacked?: boolean, format: (n: number) => string,
 *   least?: number, from?: number, to?: number }} given
 */
export function chart({ id, name, points, series, stacked = false, format, least = 1, from, to }) {
  if (points.length < 2) {
    return h("div", { class: "chart none" }, h("p", null, "The line begins here. Come back in a moment."));
  }
  const first = from ?? /** @type {Point} */ (points[0]).at;
  const last = to ?? /** @type {Point} */ (points[points.length - 1]).at;
  const sum = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0);
  const top = ceiling(Math.max(least, ...points.map((p) => (stacked ? sum(p.values) : Math.max(...p.values)))));
  const x = (/** @type {number} */ at) => ((at - first) / Math.max(1, last - first)) * WIDE;
  const y = (/** @type {number} */ value) => HIGH - (value / top) * HIGH;
  const path = (/** @type {[number, number][]} */ places) =>
    places.map(([a, b], n) => `${n === 0 ? "M" : "L"}${a.toFixed(1)} ${b.toFixed(2)}`).join("");
  // What is stacked changes at once, and not bit by bit.
  const steps = stacked ? points.flatMap((p, n) => (n === 0 ? [p] : [{ at: p.at, values: /** @type {Point} */ (points[n - 1]).values }, p])) : points;
  const below = steps.map(() => 0);
  const drawn = series.map((line, n) => {
    const base = stacked ? [...below] : steps.map(() => 0);
    const places = steps.map((p, i) => {
      const value = /** @type {number} */ (base[i]) + (p.values[n] ?? 0);
      if (stacked) below[i] = value;
      return /** @type {[number, number]} */ ([x(p.at), y(value)]);
    });
    const back = steps.map((p, i) => /** @type {[number, number]} */ ([x(p.at), y(base[i] ?? 0)])).reverse();
    return h("g", { key: line.name, class: `${line.color} ${stacked ? "stack" : ""} ${line.dashed ? "dashed" : ""}` },
      (stacked || line.area) && h("path", { class: "area", d: `${path([...places, ...back])}Z` }),
      h("path", { class: "line", d: path(places) }));
  });
  const here = pointed?.chart === id ? points[pointed.index] : undefined;
  const shown = here ?? /** @type {Point} */ (points[points.length - 1]);
  const point = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const at = first + ((event.clientX - box.left) / box.width) * (last - first);
    let index = 0;
    points.forEach((p, n) => {
      if (Math.abs(p.at - at) < Math.abs(/** @type {Point} */ (points[index]).at - at)) index = n;
    });
    pointed = { chart: id, index };
    redraw();
  };
  const leave = () => {
    pointed = null;
    redraw();
  };
  const told = series.map((line, n) => `${line.name} ${format(shown.values[n] ?? 0)}`).join(", ");
  return h("figure", { class: "chart" },
    h("figcaption", { class: "legend" },
      series.map((line, n) => h("span", { key: line.name, class: line.color }, h("i", { class: line.dashed ? "dashed" : "" }), line.name,
        h("b", null, format(shown.values[n] ?? 0)))),
      h("span", { class: "moment" }, here ? moment(here.at) : "")),
    h("div", { class: "plot" },
      h("div", { class: "scale", "aria-hidden": "true" }, h("span", null, format(top)), h("span", null, format(top / 2)), h("span", null, "0")),
      h("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${told}`,
        onpointermove: point, onpointerleave: leave },
        [0.5, 1].map((part) => h("line", { class: "grid", x1: 0, x2: WIDE, y1: y(top * part), y2: y(top * part) })),
        h("line", { class: "ground", x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }),
        drawn,
        here && h("line", { class: "cursor", x1: x(here.at), x2: x(here.at), y1: 0, y2: HIGH })),
      h("div", { class: "times", "aria-hidden": "true" },
        [first, (first + last) / 2, last].map((at) => h("span", { title: exactly(at) }, last - first < 600_000 ? moment(at) : moment(at).slice(0, -3))))));
}

/** A line without labels, for beside a number. @param {number[]} values @param {string} color */
export function spark(values, color) {
  if (values.length < 2) return null;
  const top = Math.max(1e-9, ...values);
  const place = (/** @type {number} */ value, /** @type {number} */ n) =>
    `${n === 0 ? "M" : "L"}${((n / (values.length - 1)) * 100).toFixed(1)} ${(23 - (value / top) * 21).toFixed(1)}`;
  const line = values.map(place).join("");
  return h("svg", { class: `spark ${color}`, viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("path", { class: "area", d: `${line}L100 24L0 24Z` }), h("path", { class: "line", d: line }));
}
