import type { Jobs, Job, Words } from './index.js'

/** `<job-progress job="ID" cancel label="..">`. Fires `job-change`, `job-done` and `job-error`. */
export interface JobProgressElement extends HTMLElement {
  readonly job: Job | null
  cancel(): Promise<void>
}

export function defineJobProgress(jobs: Jobs, options?: { name?: string; words?: Partial<Words> }): void
