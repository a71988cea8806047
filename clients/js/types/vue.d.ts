import type { ComponentOptionsMixin, ComputedRef, DefineComponent, MaybeRefOrGetter, Plugin, ShallowRef } from 'vue'
import type { Connection, Job, JobData, JobView, Jobs, Words } from './index.js'

export const turnabout: Plugin<[{ jobs: Jobs; words?: Partial<Words> }]>

export function useJobs(): { jobs: Jobs; connection: Readonly<ShallowRef<Connection>> }

type Refs<T> = { [K in keyof T]: ComputedRef<T[K]> }

export function useJob<Public = Record<string, unknown>>(
  id: MaybeRefOrGetter<string | null | undefined>,
  options?: { initial?: JobData<Public> },
): Refs<Omit<JobView<Public>, 'cancellable'>> & {
  cancel(): Promise<void> | undefined
  result<Result = unknown>(options?: { signal?: AbortSignal }): Promise<Result> | undefined
  done(options?: { signal?: AbortSignal }): ReturnType<Job<Public>['done']> | undefined
}

export const JobProgress: DefineComponent<{
  id: string
  initial?: JobData
  cancel?: boolean
  label?: string
  words?: Partial<Words>
  onDone?: (job: JobData) => void
  onError?: (error: unknown) => void
}>

/** `job`, `jobIsRunning`, `jobIsFinished`, `jobIsEnded`, `jobHasFailed`, `createAndMonitorJob`, `cancelJob`, .. */
export const jobMixin: ComponentOptionsMixin
