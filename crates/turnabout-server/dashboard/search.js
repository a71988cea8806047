// Finding jobs among many. Where few match, the server looks through some at a time, and says where to go on.

import { get } from "./api.js";

/** So many jobs are looked at for the first answer, and four times as many for each that follows. */
const LOOKS = 25_000;
/** What took longer than this (in ms) is not looked for again for twenty times as long. */
const COSTLY = 200;

/** @typedef {import("./types").JobPage} JobPage */

/** Pages of so many jobs. */
export class Search {
  /** Whether older jobs are being looked through. */
  going = false;
  #rest = 0;
  #limit;

  /** @param {number} limit */
  constructor(limit) {
    this.#limit = limit;
  }

  /** Whether the last page was so costly that it should be kept for a while. */
  get rests() {
    return performance.now() < this.#rest;
  }

  /** A page of what matches, from a cursor on. @param {Record<string, any>} query @param {string | null} before
   * @param {AbortSignal} signal @param {((page: JobPage) => void) | null} told is given what there is so far
   * @returns {Promise<JobPage>} */
  async find(query, before, signal, told) {
    const begin = performance.now();
    const ask = (/** @type {string | null} */ from, /** @type {number} */ limit, /** @type {number} */ looks) =>
      get("jobs", { ...query, limit, looks, brief: true, ...(from ? { before: from } : {}) }, signal);
    try {
      let found = await ask(before, this.#limit, LOOKS);
      for (let looks = LOOKS * 4; found.next && found.jobs.length < this.#limit; looks = Math.min(looks * 4, 1e9)) {
        if (told) {
          this.going = true;
          told(found);
        }
        const more = await ask(found.next, this.#limit - found.jobs.length, looks);
        found = { ...more, jobs: [...found.jobs, ...more.jobs] };
      }
      const took = performance.now() - begin;
      this.#rest = took > COSTLY ? performance.now() + 20 * took : 0;
      return found;
    } finally {
      this.going = false;
    }
  }
}
