// The API, as a page calls it. Addresses are relative to the page, so that it works below any prefix.

import { keep, token } from "./session.js";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/** What went wrong, as the server tells it (RFC 9457); status 0: there was no answer. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {string | null} [field] @param {number} [wait] */
  constructor(status, code, detail, field = null, wait = 0) {
    super(detail);
    this.status = status;
    this.code = code;
    this.field = field;
    /** Seconds after which it may be worth trying again. */
    this.wait = wait;
  }
}

/** Called when the server no longer knows the token. @type {() => void} */
let refused = () => {};

/** @param {() => void} call */
export function onRefused(call) {
  refused = call;
}

/** @param {string} path @param {Query} [query] */
export function address(path, query = {}) {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  url.hash = "";
  return url;
}

/** @param {Record<string, string>} [more] */
export function headers(more = {}) {
  const known = token();
  return known ? { ...more, authorization: `Bearer ${known}` } : more;
}

/**
 * One call. Gives the response if all went well.
 * @param {string} method @param {string} path
 * @param {{ query?: Query, body?: string, signal?: AbortSignal, more?: Record<string, string> }} [given]
 */
export async function call(method, path, given = {}) {
  /** @type {RequestInit} */
  const init = { method, headers: headers(given.more), cache: "no-store" };
  if (given.signal) init.signal = given.signal;
  if (given.body !== undefined) {
    init.body = given.body;
    init.headers = { ...init.headers, "content-type": "application/json" };
  }
  let response;
  try {
    response = await fetch(address(path, given.query), init);
  } catch (error) {
    if (given.signal?.aborted) throw error;
    throw new Problem(0, "offline", "the server does not answer");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const detail = problem.detail ?? `the server answered with status ${response.status}`;
  if (response.status === 401) {
    keep(null);
    refused();
  }
  throw new Problem(response.status, problem.code ?? "unknown", detail, problem.field, problem.retry_after ?? 0);
}

const V1 = "api/v1/";

/** So many seconds old may be what other pages were told of this; of anything else: */
const AGES = new Map([["doctor", 20], ["trends", 10]]);
const AGE = 4;
/** For so many milliseconds after a change of its own a page is told how it is now. */
const FRESH = 3000;
let changed = -FRESH;

/** @param {string} path @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, query, signal) {
  const old = performance.now() - changed > FRESH;
  const more = old ? { "cache-control": `max-age=${AGES.get(path) ?? AGE}` } : {};
  const response = await call("GET", V1 + path, { query: query ?? {}, more, ...(signal ? { signal } : {}) });
  return response.json();
}

/** As it was written. @param {string} path @param {AbortSignal} [signal] */
export async function text(path, signal) {
  const response = await call("GET", V1 + path, signal ? { signal } : {});
  return response.text();
}

/** What this server does not have, or not for this token: it is not asked for again. @type {Set<string>} */
const missing = new Set();

/** Someone else may be told more. */
export const forget = () => missing.clear();

/**
 * Like `get`, for what a server may not have or a token may not see: null then.
 * @param {string} path @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<any>}
 */
export async function maybe(path, query, signal) {
  if (missing.has(path)) return null;
  try {
    return await get(path, query, signal);
  } catch (error) {
    if (!(error instanceof Problem) || (error.status !== 403 && error.status !== 404)) throw error;
    if (!path.includes("/")) missing.add(path);
    return null;
  }
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {Query} [query] @returns {Promise<any>} */
export async function send(method, path, body, query) {
  changed = performance.now();
  const written = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  const response = await call(method, V1 + path, {
    query: query ?? {},
    ...(written === undefined ? {} : { body: written }),
  });
  changed = performance.now();
  const answer = await response.text();
  return answer === "" ? null : JSON.parse(answer);
}

/** A name as a part of a path. @param {string} name */
export const part = (name) => encodeURIComponent(name);
