import type { ComponentOptionsMixin, ComputedRef, DefineComponent, MaybeRefOrGetter, Plugin, ShallowRef } from 'vue'
import type { Connection, Given, JobActions, JobData, JobProgressProps, JobView, Jobs } from './index.js'

export const turnabout: Plugin<[Given]>

export function useJobs(): { jobs: Jobs; connection: Readonly<ShallowRef<Connection>> }

type Refs<T> = { [K in keyof T]: ComputedRef<T[K]> }

export function useJob<Public = Record<string, unknown>>(
  id: MaybeRefOrGetter<string | null | undefined>,
  options?: { initial?: JobData<Public> },
): Refs<Omit<JobView<Public>, 'cancellable'>> & JobActions<Public>

export const JobProgress: DefineComponent<JobProgressProps>

/** `job`, `jobIsRunning`, `jobIsFinished`, `jobIsEnded`, `jobHasFailed`, `createAndMonitorJob`, `cancelJob`, .. */
export const jobMixin: ComponentOptionsMixin
