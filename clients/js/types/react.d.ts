import type { ReactElement, ReactNode } from 'react'
import type { Connection, Job, JobData, JobView, Jobs, Words } from './index.js'

export function JobsProvider(props: { jobs: Jobs; words?: Partial<Words>; children?: ReactNode }): ReactElement

export function useJobs(): { jobs: Jobs; connection: Connection }

export function useJob<Public = Record<string, unknown>>(
  id: string | null | undefined,
  options?: { initial?: JobData<Public>; words?: Partial<Words> },
): JobView<Public> & {
  cancel(): Promise<void> | undefined
  result<Result = unknown>(options?: { signal?: AbortSignal }): Promise<Result> | undefined
  done(options?: { signal?: AbortSignal }): ReturnType<Job<Public>['done']> | undefined
}

export function JobProgress(props: {
  id: string
  initial?: JobData
  cancel?: boolean
  label?: string
  words?: Partial<Words>
  onDone?: (job: JobData) => void
  onError?: (error: unknown) => void
}): ReactElement
