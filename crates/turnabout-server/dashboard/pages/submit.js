// Submitting jobs by hand: test jobs of the task that is always there, and jobs of any task.

import { maybe, part, send, text } from "../api.js";
import { ask, attempt, sentence, tell } from "../dialog.js";
import { me } from "../session.js";
import { members, mistake, pretty } from "../json.js";
import { many } from "../format.js";
import { to } from "../parts.js";

/** A whole number of so much. @param {number} least @param {number} most */
const whole = (least, most) => (/** @type {string} */ value) =>
  /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most ? null : `A whole number from ${least} to ${most}.`;

/** Some jobs that only sleep. @param {(() => void)} [after] */
export async function testJobs(after) {
  const own = me().group;
  // Others may not ask for it.
  const task = own === null ? await maybe("tasks/sleep", {}, new AbortController().signal).catch(() => null) : undefined;
  if (task !== undefined && !task?.published) {
    tell("No executor has the task `sleep`, which test jobs are of. It is there where the API listens on this machine only, or with `sleep = true` in [executor].", "bad");
    return;
  }
  const said = await ask({
    title: "Submit test jobs",
    text: "The task `sleep` is built in: it does nothing for a while, tells how far it is, and fails if it is asked to.",
    confirm: "Submit",
    fields: [
      { name: "jobs", label: "How many jobs", type: "number", value: "1", min: 1, max: 1000, required: true, check: whole(1, 1000) },
      { name: "seconds", label: "Seconds that each takes", type: "number", value: "5", min: 0, step: "any", required: true,
        check: (value) => (Number(value) >= 0 ? null : "A number of seconds.") },
      { name: "fail", label: "Attempts that fail first", type: "number", value: "0", min: 0, max: 20, required: true, check: whole(0, 20) },
      ...(own === null ? [{ name: "group", label: "Group", value: "test", required: true }] : []),
    ],
  });
  if (!said) return;
  const one = { task: "sleep", args: { seconds: Number(said.seconds), fail: Number(said.fail) }, subject: "a test job",
    ...(own === null ? { group: said.group } : {}) };
  const outcome = await attempt(
    () => send("POST", "jobs/batch", { jobs: Array.from({ length: Number(said.jobs) }, () => one) }),
    (done) => `${many(done.accepted, "test job")} submitted.${done.refused > 0 ? ` ${done.refused} refused: ${done.outcomes.find((/** @type {any} */ o) => o.problem)?.problem.detail}` : ""}`);
  if (outcome?.accepted === 1) location.hash = to.job(outcome.outcomes[0].id);
  else if (outcome) after?.();
}

/** One job, with these arguments to begin with. @param {{ task: string, args: string, group?: string, owner?: string | null, queue?: string, subject?: string | null, priority?: string }} like @param {string} title */
async function submit(like, title) {
  const own = me().group;
  const said = await ask({
    title,
    confirm: "Submit",
    fields: [
      { name: "args", label: "Arguments (JSON)", type: "json", value: like.args, required: true,
        check: (value) => { const why = mistake(value); return why && `This is not JSON: ${why}`; } },
      ...(own === null ? [{ name: "group", label: "Group", value: like.group ?? "default", required: true }] : []),
      { name: "subject", label: "Subject", value: like.subject ?? "", hint: "A line about it, for people. May be left empty." },
      { name: "priority", label: "Priority", type: /** @type {const} */ ("select"), value: like.priority ?? "",
        options: /** @type {[string, string][]} */ ([["", "as the task says"], ["high", "high"], ["normal", "normal"], ["low", "low"]]) },
    ],
  });
  if (!said) return;
  /** @type {Record<string, unknown>} */
  const rest = { task: like.task };
  if (own === null) rest.group = said.group;
  if (like.owner && me().owner === null) rest.owner = like.owner;
  if (like.queue) rest.queue = like.queue;
  if (said.subject) rest.subject = said.subject;
  if (said.priority) rest.priority = said.priority;
  // The arguments go out as they were written: a long number keeps its digits.
  const body = `${JSON.stringify(rest).slice(0, -1)},"args":${said.args}}`;
  const outcome = await attempt(() => send("POST", "jobs", body), (done) => `Submitted.${done.warning ? ` ${sentence(done.warning)}` : ""}`);
  if (outcome) location.hash = to.job(outcome.id);
}

/** @param {string} task */
export const newJob = (task) => submit({ task, args: "{}" }, `Submit a job of ${task}`);

/** The same again, with other arguments. @param {string} id */
export async function copyOf(id) {
  const written = await text(`jobs/${part(id)}`).catch(() => null);
  if (written === null) return tell("The job is gone.", "bad");
  const job = JSON.parse(written);
  await submit({ ...job, args: pretty(members(written).get("args") ?? "{}") }, `Run a copy of ${job.task}`);
}
