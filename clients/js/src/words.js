// What people are told about a job, and what every binding derives from it in the same way.

import { isEnded } from './job.js'

/** English, unless a page has words of its own. */
export const WORDS = {
  unknown: 'Loading …',
  waiting: 'Waiting to start …',
  scheduled: 'About to start …',
  running: 'Running …',
  stuck: 'Failed, will be tried again',
  cancelling: 'Being cancelled …',
  success: 'Finished',
  failed: 'Failed',
  cancelled: 'Cancelled',
  gone: 'No longer known',
  cancel: 'Cancel',
  progress: 'Progress',
}

/** A job as bindings show it; `job` is null before the first news. */
export function view(job, words) {
  const all = { ...WORDS, ...words }
  const state = job?.state
  const ended = job ? isEnded(state) : false
  const failed = state === 'failed'
  const error = failed || state === 'stuck' ? { code: job.error_code ?? state, message: job.error_message ?? all[state] } : null
  return {
    job,
    state: state ?? null,
    percent: job?.progress ?? 0,
    step: job?.step ?? null,
    running: !!job && !ended,
    ended,
    success: state === 'success',
    failed,
    cancelled: state === 'cancelled',
    cancelling: !ended && !!job?.cancelling,
    cancellable: !!job && !ended && !job.cancelling,
    error,
    text: failed ? error.message : !job ? all.unknown : !ended && job.cancelling ? all.cancelling : (state === 'running' && job.step) || all[state],
  }
}
