import type { ReactElement, ReactNode } from 'react'
import type { Connection, Given, JobActions, JobData, JobProgressProps, JobView, Jobs, Words } from './index.js'

export function JobsProvider(props: Given & { children?: ReactNode }): ReactElement

export function useJobs(): { jobs: Jobs; connection: Connection }

export function useJob<Public = Record<string, unknown>>(
  id: string | null | undefined,
  options?: { initial?: JobData<Public>; words?: Partial<Words> },
): JobView<Public> & JobActions<Public>

export function JobProgress(props: JobProgressProps): ReactElement
