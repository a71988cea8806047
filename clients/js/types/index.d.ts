/** Where a job is in its life. `gone`: the server does not know it (any longer), or not for this caller. */
export type JobState = 'waiting' | 'scheduled' | 'running' | 'stuck' | 'success' | 'failed' | 'cancelled' | 'gone'

/** What is followed by which means: nothing to follow, a stream, requests in turn, or nothing works at present. */
export type Connection = 'idle' | 'live' | 'polling' | 'offline'

/** What is known about a job: the fields of the API. Of one that is `gone`, only `id`, `state` and `progress`. */
export interface JobData<Public = Record<string, unknown>> {
  readonly id: string
  readonly state: JobState
  /** Whole percent; never goes back, 100 only at success. */
  readonly progress: number
  readonly task?: string
  readonly subject?: string | null
  readonly group?: string
  readonly owner?: string | null
  /** What the job's handler is doing at present. */
  readonly step?: string | null
  readonly reason?: string | null
  /** Whether someone asked to cancel it; it will end cancelled. */
  readonly cancelling?: boolean
  readonly attempts?: number
  readonly submitted?: string
  readonly due?: string | null
  readonly started?: string | null
  readonly finished?: string | null
  /** What went wrong, for people. */
  readonly error_message?: string | null
  /** What went wrong, for programs. */
  readonly error_code?: string | null
  /** What the job's task shows to everyone who may see the job. */
  readonly public?: Public | null
}

/** A job that is followed while someone listens. */
export interface Job<Public = Record<string, unknown>> {
  readonly id: string
  /** What is known; null before the first news. */
  readonly current: JobData<Public> | null
  readonly ended: boolean
  /** Calls `listener` with what is known, now and at each change. Returns what ends that. */
  subscribe(listener: (job: JobData<Public>) => void): () => void
  /** The job at its end, whichever it is. */
  done(options?: { signal?: AbortSignal }): Promise<JobData<Public>>
  /** Cancels it. Fails with the code `not-cancellable` if it has succeeded or failed. */
  cancel(): Promise<void>
  /** What its handler returned, at its end. Fails if it did not succeed. */
  result<Result = unknown>(options?: { signal?: AbortSignal }): Promise<Result>
}

export interface SubmitOptions {
  group?: string
  owner?: string
  subject?: string
  queue?: string
  priority?: 'high' | 'normal' | 'low'
  delay?: string
  at?: string
  expires?: string
  unique?: string
  items?: number
  meta?: Record<string, string>
  public?: Record<string, unknown>
  id?: string
}

export interface Options {
  /** The address of the API: `/api/v1` unless given. */
  url?: string
  /** Gives a token: called when one is needed, before it ends, and when the server refuses it. */
  token?: () => string | Promise<string>
  /** Whether tabs share one stream: if the token says whose jobs it is for (`true`), never (`false`), or by this name. */
  share?: boolean | string
  /** Submits a job in place of the API, where the page's token may not: through the page's own server. */
  submit?: (task: string, args: unknown, options: SubmitOptions) => Promise<string | { id: string }>
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** A page that is hidden for so many milliseconds makes no requests: 60,000 unless given. */
  hidden?: number
  /** Delays in milliseconds, for tests. */
  times?: Record<string, number>
}

export interface Jobs {
  readonly connection: Connection
  /** Calls `listener` with the connection, now and at each change. */
  onConnection(listener: (connection: Connection) => void): () => void
  /** A job to be followed once someone listens. `known`: what a page was rendered with. */
  track<Public = Record<string, unknown>>(id: string, known?: JobData<Public>): Job<Public>
  /** Submits a job, and tracks it. */
  submit<Public = Record<string, unknown>>(task: string, args?: unknown, options?: SubmitOptions): Promise<Job<Public>>
  /** The jobs that have not ended, newest first. */
  unfinished(filter?: { task?: string; group?: string; owner?: string; limit?: number }): Promise<Job[]>
  /** Ends everything. */
  close(): void
}

/** What the server answered, if that is no success; `status` 0: nothing at all. */
export class JobsError extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfter: number
  readonly problem?: unknown
}

export function createJobs(options?: Options): Jobs
export function isEnded(state: JobState): boolean

/** What people are told, by state. */
export interface Words {
  unknown: string
  waiting: string
  scheduled: string
  running: string
  stuck: string
  cancelling: string
  success: string
  failed: string
  cancelled: string
  gone: string
  cancel: string
  progress: string
}

/** A job as bindings show it. */
export interface JobView<Public = Record<string, unknown>> {
  job: JobData<Public> | null
  state: JobState | null
  percent: number
  step: string | null
  running: boolean
  ended: boolean
  success: boolean
  failed: boolean
  cancelled: boolean
  cancelling: boolean
  cancellable: boolean
  error: { code: string; message: string } | null
  text: string
}

/** What components do with the job that they show. Undefined: there is no job. */
export interface JobActions<Public = Record<string, unknown>> {
  cancel(): Promise<void> | undefined
  result<Result = unknown>(options?: { signal?: AbortSignal }): Promise<Result> | undefined
  done(options?: { signal?: AbortSignal }): Promise<JobData<Public>> | undefined
}

/** What an application gives to its components. */
export interface Given {
  jobs: Jobs
  words?: Partial<Words>
}

/** What `<JobProgress>` is given. */
export interface JobProgressProps {
  id: string
  /** What the page was rendered with. */
  initial?: JobData
  /** Whether there is a button to cancel the job. */
  cancel?: boolean
  label?: string
  words?: Partial<Words>
  onDone?: (job: JobData) => void
  onError?: (error: unknown) => void
}
