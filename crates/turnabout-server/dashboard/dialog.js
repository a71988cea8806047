// Questions before something is done, and short messages after it.

import { h, redraw, render } from "./view.js";
import { Problem } from "./api.js";

/** @typedef {import("./view.js").Kid} Kid */
/**
 * @typedef {{ name: string, label: string, type?: "text" | "number" | "json" | "select", value?: string, hint?: string,
 *   options?: [string, string][], required?: boolean, check?: (value: string) => string | null, min?: number, max?: number,
 *   step?: string, placeholder?: string }} Field
 */

/**
 * Asks. Gives what was filled in (by the names of the fields), or null if the answer is no.
 * @param {{ title: string, text?: Kid, confirm: string, refuse?: string, danger?: boolean, fields?: Field[] }} question
 * @returns {Promise<Record<string, string> | null>}
 */
export function ask({ title, text, confirm, refuse = "Back", danger = false, fields = [] }) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    document.body.append(dialog);
    /** @type {Record<string, string>} */
    const values = Object.fromEntries(fields.map((field) => [field.name, field.value ?? ""]));
    /** @type {Record<string, string | null>} */
    let wrong = {};
    /** @type {Record<string, string> | null} */
    let answer = null;
    const send = (/** @type {Event} */ event) => {
      event.preventDefault();
      wrong = {};
      for (const field of fields) {
        const value = values[field.name] ?? "";
        const missing = field.required && value.trim() === "" ? "This is needed." : null;
        const found = missing ?? (value === "" ? null : (field.check?.(value) ?? null));
        if (found) wrong[field.name] = found;
      }
      if (Object.keys(wrong).length > 0) return draw();
      answer = values;
      dialog.close();
    };
    const control = (/** @type {Field} */ field) => {
      const common = {
        id: `field-${field.name}`, name: field.name, value: field.value ?? "", "aria-describedby": `about-${field.name}`,
        "aria-invalid": wrong[field.name] ? "true" : undefined, placeholder: field.placeholder,
        oninput: (/** @type {Event} */ event) => {
          values[field.name] = /** @type {HTMLInputElement} */ (event.target).value;
        },
      };
      if (field.type === "json") return h("textarea", { ...common, rows: 10, spellcheck: "false", class: "mono" });
      if (field.type === "select") {
        return h("select", common, (field.options ?? []).map(([value, name]) =>
          h("option", { value, selected: value === field.value }, name)));
      }
      return h("input", { ...common, type: field.type ?? "text", min: field.min, max: field.max, step: field.step,
        autocomplete: "off" });
    };
    const draw = () => render(dialog,
      h("form", { method: "dialog", onsubmit: send, novalidate: true },
        h("h2", { id: "dialog-title" }, title),
        text && h("div", { class: "text" }, text),
        fields.map((field) => h("div", { class: "field", key: field.name },
          h("label", { for: `field-${field.name}` }, field.label), control(field),
          h("small", { id: `about-${field.name}`, class: wrong[field.name] ? "wrong" : "" }, wrong[field.name] ?? field.hint ?? ""))),
        h("div", { class: "buttons" },
          h("button", { type: "button", class: "button", onclick: () => dialog.close() }, refuse),
          h("button", { type: "submit", class: `button ${danger ? "danger" : "primary"}` }, confirm))));
    dialog.setAttribute("aria-labelledby", "dialog-title");
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    draw();
    dialog.showModal();
    /** @type {HTMLElement | null} */
    const begin = dialog.querySelector("input, textarea, select") ?? dialog.querySelector("button[type=submit]");
    begin?.focus();
  });
}

/** @type {{ number: number, text: string, kind: string }[]} */
let told = [];
let number = 0;

/** Says something for a few seconds. @param {string} text @param {"good" | "bad"} [kind] */
export function tell(text, kind = "good") {
  const mine = ++number;
  told = [...told.slice(-3), { number: mine, text, kind }];
  redraw();
  setTimeout(() => dismiss(mine), kind === "bad" ? 12_000 : 5000);
}

/** @param {number} which */
function dismiss(which) {
  told = told.filter((one) => one.number !== which);
  redraw();
}

export const messages = () =>
  h("div", { class: "messages", role: "status", "aria-live": "polite" }, told.map((one) =>
    h("div", { key: one.number, class: `message ${one.kind}` }, h("span", null, one.text),
      h("button", { type: "button", "aria-label": "Dismiss", onclick: () => dismiss(one.number) }, "×"))));

/**
 * Does something, and says what came of it.
 * @template T @param {() => Promise<T>} act @param {string | ((outcome: T) => string)} good @returns {Promise<T | null>}
 */
export async function attempt(act, good) {
  try {
    const outcome = await act();
    tell(typeof good === "string" ? good : good(outcome));
    return outcome;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status !== 401) tell(sentence(error.message), "bad");
    return null;
  }
}

/** @param {string} text */
export function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/**
 * Of what someone has said in a dialog, only what differs from what they were shown: the rest may have been set by others meanwhile.
 * @param {object} shown @param {Record<string, unknown>} said
 */
export const changed = (shown, said) => Object.fromEntries(Object.entries(said).filter(([name, value]) => value !== /** @type {Record<string, unknown>} */ (shown)[name]));
