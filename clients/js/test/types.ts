// How the package is used, as far as types can tell: checked, never run.

import { createElement } from 'react'
import { createApp, defineComponent, h, ref } from 'vue'
import { createJobs, isEnded, JobsError, type Connection, type JobData } from 'turnabout-client'
import { defineJobProgress, type JobProgressElement } from 'turnabout-client/element'
import * as forReact from 'turnabout-client/react'
import { JobProgress, jobMixin, turnabout, useJob, useJobs } from 'turnabout-client/vue'

const jobs = createJobs({ url: '/api/v1', token: async () => 'token', submit: async () => ({ id: 'x' }) })

export async function core(): Promise<void> {
  const job = jobs.track<{ file: string }>('id')
  const stop: () => void = job.subscribe((now) => console.log(now.progress, now.public?.file.length))
  const end: JobData<{ file: string }> = await job.done({ signal: AbortSignal.timeout(1000) })
  if (isEnded(end.state)) stop()
  const result: { tables: number } = await job.result()
  console.log(result.tables)
  try {
    await (await jobs.submit('import', { file: 'a.pdf' }, { priority: 'high' })).cancel()
  } catch (error) {
    if (error instanceof JobsError) console.log(error.status, error.code)
  }
  for (const found of await jobs.unfinished({ task: 'import' })) console.log(found.id)
  const connection: Connection = jobs.connection
  console.log(connection)
  // @ts-expect-error a state that there is not
  isEnded('finished')
  // @ts-expect-error a priority that there is not
  await jobs.submit('import', {}, { priority: 'urgent' })
}

export const vue = createApp(
  defineComponent({
    mixins: [jobMixin],
    setup() {
      const id = ref<string | null>('id')
      const { percent, running, error, cancel } = useJob<{ file: string }>(id)
      const { connection } = useJobs()
      const shown: [number, boolean, string | undefined, Connection] = [percent.value, running.value, error.value?.message, connection.value]
      return () => h(JobProgress, { id: String(shown[0]), cancel: true, onDone: () => cancel() })
    },
  }),
).use(turnabout, { jobs, words: { running: 'Läuft' } })

export function React(): ReturnType<typeof forReact.JobProgress> {
  const { percent, error, cancel } = forReact.useJob('id')
  console.log(percent.toFixed(), error?.message, cancel)
  return createElement(forReact.JobsProvider, { jobs }, createElement(forReact.JobProgress, { id: 'id', cancel: true }))
}

defineJobProgress(jobs, { words: { cancel: 'Stop' } })
document.querySelector<JobProgressElement>('job-progress')?.job?.current?.state.toUpperCase()
