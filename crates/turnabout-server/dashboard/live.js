// Keeps a page up to date, and says how it goes. Pages of jobs follow these by the stream of events while they can; pages of
// numbers ask every two seconds, since all of them together are told one answer.
//
// live: the stream is open, or numbers come as often as they should. polling: the stream is not (or tells so much that asking is
// cheaper), or the server is slow. offline: nobody answers.

import { Problem, call } from "./api.js";

/** @typedef {"live" | "polling" | "offline"} Mood */
/** @typedef {{ event: string, data: string, id: string | null }} Told */

/** A page is asked to look again no more often than this, however much happens. */
const LOOK = 1000;
/** While nothing is told, it looks this often all the same. */
const CALM = 10_000;
/** Without a stream it looks this often. */
const POLL = 2000;
/** A look that takes long is followed by so many times as long without one. */
const SPARING = 5;
/** More events than this in a second are not worth reading one by one. */
const BUSY = 300;
/** A stream that was too busy is tried again after this time, and after four times as long if it still is, .. */
const BUSY_REST = 20_000;
/** .. but at least this often: a stream makes the server write down every change. */
const BUSY_MOST = 320_000;
/** The server says something every 15 seconds. A stream that is silent for longer is dead. */
const SILENT = 45_000;

/**
 * Reads server-sent events until they end. `fetch` rather than `EventSource`, so that the token goes in a header.
 * @param {string} path @param {import("./api.js").Query} query @param {AbortSignal} signal
 * @param {(told: Told) => void} hear @param {{ last?: string | null, open?: () => void }} [more]
 */
export async function follow(path, query, signal, hear, more = {}) {
  const stop = new AbortController();
  const abort = () => stop.abort();
  signal.addEventListener("abort", abort);
  let watchdog = setTimeout(abort, SILENT);
  try {
    /** @type {Record<string, string>} */
    const ask = { accept: "text/event-stream" };
    if (more.last) ask["last-event-id"] = more.last;
    const response = await call("GET", path, { query, signal: stop.signal, more: ask });
    if (!response.body) return;
    more.open?.();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(abort, SILENT);
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const told = parse(block);
        if (told) hear(told);
      }
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", abort);
    stop.abort();
  }
}

/** @param {string} block @returns {Told | null} */
function parse(block) {
  let event = "message";
  let id = null;
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id") id = value;
  }
  return data.length === 0 ? null : { event, data: data.join("\n"), id };
}

export class Live {
  /**
   * @param {{ look: () => Promise<void>, told: (job: import("./types").Brief) => void, mood: (mood: Mood, why: string) => void }} page
   */
  constructor(page) {
    this.page = page;
    /** @type {Mood} */
    this.mood = "polling";
    /** @type {import("./api.js").Query | null} */
    this.query = null;
    /** @type {AbortController | null} */
    this.stream = null;
    this.timer = 0;
    this.again = 0;
    this.failures = 0;
    this.rest = BUSY_REST;
    this.looking = false;
    this.dirty = false;
    /** When the last look ended, and how long it took. */
    this.looked = 0;
    this.took = 0;
    /** @type {string | null} */
    this.last = null;
  }

  /**
   * From now on for these jobs (all of them: `{}`); null: no stream, only looks now and then.
   * @param {import("./api.js").Query | null} query
   */
  start(query) {
    this.stop();
    this.query = query;
    this.last = null;
    this.failures = 0;
    this.rest = BUSY_REST;
    this.connect();
    // What another page was slow at says nothing about this one.
    this.looked = -CALM;
    this.took = 0;
    this.dirty = true;
    this.soon();
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.again);
    this.timer = 0;
    this.stream?.abort();
    this.stream = null;
  }

  /** Look again as soon as is decent. */
  hurry() {
    this.dirty = true;
    this.soon();
  }

  /** @param {Mood} mood @param {string} why */
  feel(mood, why) {
    this.mood = mood;
    this.page.mood(mood, why);
  }

  connect() {
    const query = this.query;
    if (!query || document.hidden) return;
    const stream = new AbortController();
    this.stream = stream;
    let second = 0;
    let told = 0;
    let busy = false;
    /** All jobs that are followed have ended: what else may come is seen now and then. */
    let ended = false;
    const hear = (/** @type {Told} */ { event, data, id }) => {
      if (id) this.last = id;
      const present = Math.floor(performance.now() / 1000);
      if (present !== second) [second, told] = [present, 0];
      if (++told > BUSY) {
        busy = true;
        stream.abort();
      }
      if (event === "end") ended = true;
      if (event === "job") this.page.told(JSON.parse(data));
      if (event === "job" || event === "gone" || event === "resync") this.hurry();
    };
    const open = () => {
      this.failures = 0;
      this.feel("live", "changes are shown as they happen");
    };
    const over = (/** @type {unknown} */ error) => {
      if (this.stream !== stream) return;
      this.stream = null;
      if (error instanceof Problem && error.status === 401) return;
      if (busy) {
        this.last = null;
        this.feel("polling", "so much happens that the page asks every two seconds instead");
      } else if (this.mood === "live" && !ended) {
        this.feel("polling", "the stream of events has ended; trying again");
      }
      const wait = busy ? this.rest : ended ? CALM : Math.min(15_000, 500 * 2 ** this.failures++);
      if (busy) this.rest = Math.min(BUSY_MOST, this.rest * 4);
      this.again = setTimeout(() => this.connect(), wait);
      if (!ended) this.hurry();
    };
    follow("api/v1/events", { initial: 0, ...query }, stream.signal, hear, { last: this.last, open }).then(over, over);
  }

  soon() {
    if (this.looking || document.hidden) return;
    clearTimeout(this.timer);
    const pause = this.dirty ? LOOK : this.query && this.mood === "live" ? CALM : POLL;
    // A server that takes long is asked less often.
    const wait = Math.max(0, this.looked + Math.max(pause, this.took * SPARING) - performance.now());
    this.timer = setTimeout(() => void this.look(), wait);
  }

  /** Says how often a page without a stream asks. @param {number} took */
  pace(took) {
    if (took * SPARING <= 2 * POLL) this.feel("live", "numbers are looked up every two seconds");
    else this.feel("polling", `the server is slow: numbers are looked up every ${Math.round((took * SPARING) / 1000)} seconds`);
  }

  async look() {
    this.looking = true;
    this.dirty = false;
    const begin = performance.now();
    let slow = 0;
    try {
      await this.page.look();
      if (this.mood === "offline") this.feel("polling", "the server answers again");
      if (this.query === null) this.pace(performance.now() - begin);
    } catch (error) {
      if (error instanceof Problem && error.status === 0) {
        this.feel("offline", "the server does not answer; trying again");
      }
      // Too many requests with this token: it is asked again when it may be.
      if (error instanceof Problem && error.status === 429) slow = error.wait * 1000;
    }
    this.looked = performance.now() + slow;
    this.took = this.looked - slow - begin;
    this.looking = false;
    this.soon();
  }
}
