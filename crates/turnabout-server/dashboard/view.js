// Makes elements of descriptions, and changes those that are there already in place, so that focus, selection and scroll
// position survive a page that is drawn anew every second. Texts become text nodes, never HTML.

/**
 * @typedef {{ tag: string, props: Record<string, any>, kids: (VNode | string)[], key: string | undefined }} VNode
 * @typedef {VNode | string | number | null | undefined | false | Kids} Kid
 */

/** @typedef {Kid[]} Kids */

const SVG = "http://www.w3.org/2000/svg";

/** What an element or a text was last made of. @type {WeakMap<Node, VNode | string>} */
const made = new WeakMap();

/**
 * Describes an element. `key` tells it from its siblings; `made` is called with the element once it is there.
 * @param {string} tag @param {Record<string, any> | null} [props] @param {...Kid} kids @returns {VNode}
 */
export function h(tag, props, ...kids) {
  const { key, ...rest } = props ?? {};
  return { tag, props: rest, kids: flat(kids, []), key: key === undefined ? undefined : String(key) };
}

/** @param {Kid[]} kids @param {(VNode | string)[]} into */
function flat(kids, into) {
  for (const kid of kids) {
    if (kid === null || kid === undefined || kid === false) continue;
    if (Array.isArray(kid)) flat(kid, into);
    else into.push(typeof kid === "number" ? String(kid) : kid);
  }
  return into;
}

/** Shows these as all that is inside of an element. @param {Element} root @param {...Kid} kids */
export function render(root, ...kids) {
  /** @type {(() => void)[]} */
  const after = [];
  patch(root, flat(kids, []), after);
  for (const call of after) call();
}

/** @param {Element} parent @param {(VNode | string)[]} kids @param {(() => void)[]} after */
function patch(parent, kids, after) {
  /** @type {Map<string, Node>} */
  const keyed = new Map();
  /** @type {Node[]} */
  const plain = [];
  for (const node of parent.childNodes) {
    const was = made.get(node);
    if (was !== undefined && typeof was !== "string" && was.key !== undefined) keyed.set(was.key, node);
    else plain.push(node);
  }
  let place = parent.firstChild;
  let next = 0;
  for (const kid of kids) {
    /** @type {Node | undefined} */
    let node;
    if (typeof kid !== "string" && kid.key !== undefined) {
      const found = keyed.get(kid.key);
      if (found && fits(found, kid)) {
        node = found;
        keyed.delete(kid.key);
      }
    } else if (next < plain.length && fits(/** @type {Node} */ (plain[next]), kid)) {
      node = plain[next++];
    } else if (next < plain.length) {
      // Something else stands here now.
      next++;
    }
    if (!node) node = create(parent, kid, after);
    else change(node, kid, after);
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  while (place) {
    const rest = place.nextSibling;
    parent.removeChild(place);
    place = rest;
  }
}

/** @param {Node} node @param {VNode | string} kid */
function fits(node, kid) {
  const was = made.get(node);
  if (typeof kid === "string") return typeof was === "string";
  return was !== undefined && typeof was !== "string" && was.tag === kid.tag && was.key === kid.key;
}

/** @param {Element} parent @param {VNode | string} kid @param {(() => void)[]} after @returns {Node} */
function create(parent, kid, after) {
  if (typeof kid === "string") {
    const text = document.createTextNode(kid);
    made.set(text, kid);
    return text;
  }
  const inside = parent.namespaceURI === SVG && parent.localName !== "foreignObject";
  const element =
    kid.tag === "svg" || inside ? document.createElementNS(SVG, kid.tag) : document.createElement(kid.tag);
  made.set(element, kid);
  patch(element, kid.kids, after);
  for (const [name, value] of Object.entries(kid.props)) set(element, name, value, undefined);
  if (kid.props.made) after.push(() => kid.props.made(element));
  return element;
}

/** @param {Node} node @param {VNode | string} kid @param {(() => void)[]} after */
function change(node, kid, after) {
  const was = made.get(node);
  made.set(node, kid);
  if (typeof kid === "string") {
    if (was !== kid) node.nodeValue = kid;
    return;
  }
  const element = /** @type {Element} */ (node);
  patch(element, kid.kids, after);
  const old = typeof was === "object" ? was.props : {};
  for (const name of Object.keys(old)) if (!(name in kid.props)) set(element, name, undefined, old[name]);
  for (const [name, value] of Object.entries(kid.props)) {
    if (value !== old[name]) set(element, name, value, old[name]);
  }
}

/** Those that are more than the attribute of this name. */
const PROPERTIES = new Set(["value", "checked", "indeterminate", "disabled", "open", "selected", "hidden"]);

/** @param {any} element @param {string} name @param {any} value @param {any} old */
function set(element, name, value, old) {
  if (name === "made") return;
  if (name.startsWith("on")) {
    element[name] = value ?? null;
  } else if (name === "style") {
    for (const part of Object.keys(old ?? {})) if (!value || !(part in value)) element.style.removeProperty(part);
    for (const [part, to] of Object.entries(value ?? {})) element.style.setProperty(part, String(to));
  } else if (PROPERTIES.has(name) && element.namespaceURI !== SVG) {
    element[name] = value ?? (name === "value" ? "" : false);
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Draws the whole page anew. @type {() => void} */
let draw = () => {};
let drawing = false;

/** @param {() => void} call */
export function onDraw(call) {
  draw = call;
}

/** Something has changed that is shown. However much changes, it is drawn no more often than a screen can show. */
export function redraw() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    draw();
  }, 16);
}
