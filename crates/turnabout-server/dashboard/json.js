// JSON as text: what `JSON.parse` would round (long numbers) is shown as it was written.

/** The end of the value that begins at `at`. @param {string} text @param {number} at @returns {number} */
function end(text, at) {
  const first = text[at];
  if (first === '"') {
    let to = at + 1;
    while (to < text.length && text[to] !== '"') to += text[to] === "\\" ? 2 : 1;
    return to + 1;
  }
  if (first === "{" || first === "[") {
    let depth = 0;
    for (let to = at; to < text.length; to++) {
      const c = text[to];
      if (c === '"') to = end(text, to) - 1;
      else if (c === "{" || c === "[") depth++;
      else if ((c === "}" || c === "]") && --depth === 0) return to + 1;
    }
    return text.length;
  }
  let to = at;
  while (to < text.length && !/[\s,\]}:]/.test(text[to] ?? "")) to++;
  return to;
}

/** @param {string} text @param {number} at */
function skip(text, at) {
  while (at < text.length && /\s/.test(text[at] ?? "")) at++;
  return at;
}

/**
 * The members of an object, each as it was written. The text has to be JSON.
 * @param {string} text @returns {Map<string, string>}
 */
export function members(text) {
  /** @type {Map<string, string>} */
  const found = new Map();
  let at = skip(text, skip(text, 0) + 1);
  while (at < text.length && text[at] === '"') {
    const name = end(text, at);
    const begin = skip(text, skip(text, name) + 1);
    const to = end(text, begin);
    found.set(JSON.parse(text.slice(at, name)), text.slice(begin, to));
    at = skip(text, to);
    if (text[at] !== ",") break;
    at = skip(text, at + 1);
  }
  return found;
}

/**
 * The same JSON with line breaks, every number as it was written.
 * @param {string} text @param {string} [indent] @returns {string}
 */
export function pretty(text, indent = "") {
  const at = skip(text, 0);
  const first = text[at];
  if (first !== "{" && first !== "[") return text.slice(at, end(text, at));
  const inner = `${indent}  `;
  const parts = [];
  let to = skip(text, at + 1);
  const close = first === "{" ? "}" : "]";
  while (to < text.length && text[to] !== close) {
    let name = "";
    if (first === "{") {
      const stop = end(text, to);
      name = `${text.slice(to, stop)}: `;
      to = skip(text, skip(text, stop) + 1);
    }
    const stop = end(text, to);
    if (stop === to) break;
    parts.push(`${inner}${name}${pretty(text.slice(to, stop), inner)}`);
    to = skip(text, stop);
    if (text[to] === ",") to = skip(text, to + 1);
  }
  return parts.length === 0 ? first + close : `${first}\n${parts.join(",\n")}\n${indent}${close}`;
}

/** Whether a text is JSON, and if not, why. @param {string} text @returns {string | null} */
export function mistake(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
