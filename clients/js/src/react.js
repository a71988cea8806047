// React: useJob, useJobs, <JobProgress>. Nothing is asked for while a server renders: jobs are followed once mounted.

import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { WORDS, view } from './words.js'

const Context = createContext(null)

/** `<JobsProvider jobs={createJobs(..)}>` around whatever uses jobs. */
export function JobsProvider({ jobs, words, children }) {
  const value = useMemo(() => ({ jobs, words }), [jobs, words])
  return createElement(Context.Provider, { value }, children)
}

const useGiven = () => {
  const given = useContext(Context)
  if (!given) throw new Error('turnabout-client: no jobs; put <JobsProvider jobs={createJobs(..)}> around this')
  return given
}

/** The client, and its connection. */
export function useJobs() {
  const { jobs } = useGiven()
  const subscribe = useCallback((changed) => jobs.onConnection(changed), [jobs])
  const connection = useSyncExternalStore(subscribe, () => jobs.connection, () => 'idle')
  return { jobs, connection }
}

/** A job by its id, which may be null. `initial`: what the page was rendered with. */
export function useJob(id, { initial, words } = {}) {
  const given = useGiven()
  const first = useRef(initial)
  const tracked = useMemo(() => {
    const known = first.current
    return id ? given.jobs.track(id, known?.id === id ? known : undefined) : null
  }, [given.jobs, id])
  const subscribe = useCallback((changed) => tracked?.subscribe(changed) ?? (() => {}), [tracked])
  const current = () => tracked?.current ?? null
  const job = useSyncExternalStore(subscribe, current, current)
  return useMemo(
    () => ({
      ...view(job, { ...given.words, ...words }),
      cancel: () => tracked?.cancel(),
      result: (options) => tracked?.result(options),
      done: (options) => tracked?.done(options),
    }),
    [job, tracked, given.words, words],
  )
}

/** A bar, what the job is doing, and (with `cancel`) a button. */
export function JobProgress({ id, initial, cancel = false, label, words, onDone, onError }) {
  const all = { ...WORDS, ...useGiven().words, ...words }
  const shown = useJob(id, { initial, words })
  const done = useRef(onDone)
  done.current = onDone
  useEffect(() => {
    if (shown.ended) done.current?.(shown.job)
  }, [shown.ended])
  return createElement(
    'div',
    { className: `job-progress job-${shown.state ?? 'unknown'}` },
    createElement(
      'div',
      {
        className: 'job-progress-bar',
        role: 'progressbar',
        'aria-label': label ?? all.progress,
        'aria-valuemin': 0,
        'aria-valuemax': 100,
        'aria-valuenow': shown.percent,
        'aria-valuetext': shown.text,
      },
      createElement('div', { className: 'job-progress-done', style: { width: `${shown.percent}%` } }),
    ),
    createElement('span', { className: 'job-progress-text', role: 'status' }, shown.text),
    cancel && shown.cancellable
      ? createElement('button', { type: 'button', className: 'job-progress-cancel', onClick: () => shown.cancel().catch((error) => onError?.(error)) }, all.cancel)
      : null,
  )
}
