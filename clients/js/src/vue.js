// Vue 3: useJob, useJobs, <JobProgress>, and a mixin for those who come from options and callbacks.

import { computed, defineComponent, getCurrentInstance, h, inject, onMounted, onScopeDispose, shallowRef, toValue, watch } from 'vue'
import { isEnded } from './job.js'
import { WORDS, view } from './words.js'

const KEY = Symbol.for('turnabout-client')

/** `app.use(turnabout, { jobs: createJobs(..) })` */
export const turnabout = {
  install(app, { jobs, words }) {
    app.provide(KEY, { jobs, words })
    app.config.globalProperties.$jobs = jobs
  },
}

const given = () => {
  const given = inject(KEY, null)
  if (!given) throw new Error('turnabout-client: no jobs; call app.use(turnabout, { jobs: createJobs(..) })')
  return given
}

/** The client, and its connection as a ref. */
export function useJobs() {
  const { jobs } = given()
  const connection = shallowRef(jobs.connection)
  let stop
  onMounted(() => (stop = jobs.onConnection((now) => (connection.value = now))))
  onScopeDispose(() => stop?.())
  return { jobs, connection }
}

/** A job by its id, which may be a ref or a getter, and may be null. Nothing is asked for while a server renders. */
export function useJob(id, { initial } = {}) {
  const { jobs, words } = given()
  const current = shallowRef(null)
  const tracked = shallowRef(null)
  // Outside of a component there is nothing to wait for.
  let mounted = !getCurrentInstance()
  let stop
  const follow = (now) => {
    stop?.()
    stop = undefined
    tracked.value = now ? jobs.track(now, initial?.id === now ? initial : undefined) : null
    current.value = tracked.value?.current ?? null
    if (mounted && tracked.value) stop = tracked.value.subscribe((job) => (current.value = job))
  }
  watch(() => toValue(id), follow, { immediate: true })
  if (!mounted) {
    onMounted(() => {
      mounted = true
      follow(toValue(id))
    })
  }
  onScopeDispose(() => stop?.())
  const shown = computed(() => view(current.value, words))
  const part = (name) => computed(() => shown.value[name])
  return {
    job: part('job'),
    state: part('state'),
    percent: part('percent'),
    step: part('step'),
    running: part('running'),
    ended: part('ended'),
    success: part('success'),
    failed: part('failed'),
    cancelled: part('cancelled'),
    cancelling: part('cancelling'),
    error: part('error'),
    text: part('text'),
    cancel: () => tracked.value?.cancel(),
    result: (options) => tracked.value?.result(options),
    done: (options) => tracked.value?.done(options),
  }
}

/** A bar, what the job is doing, and (with `cancel`) a button. */
export const JobProgress = defineComponent({
  name: 'JobProgress',
  props: { id: { type: String, required: true }, initial: Object, cancel: Boolean, label: String, words: Object },
  emits: ['done', 'error'],
  setup(props, { emit }) {
    const { words } = given()
    const job = useJob(() => props.id, { initial: props.initial })
    watch(job.ended, (ended) => ended && emit('done', job.job.value))
    return () => {
      const all = { ...WORDS, ...words, ...props.words }
      const shown = view(job.job.value, all)
      return h('div', { class: ['job-progress', `job-${shown.state ?? 'unknown'}`] }, [
        h('div', {
          class: 'job-progress-bar',
          role: 'progressbar',
          'aria-label': props.label ?? all.progress,
          'aria-valuemin': 0,
          'aria-valuemax': 100,
          'aria-valuenow': shown.percent,
          'aria-valuetext': shown.text,
        }, h('div', { class: 'job-progress-done', style: { width: `${shown.percent}%` } })),
        h('span', { class: 'job-progress-text', role: 'status' }, shown.text),
        props.cancel && shown.cancellable
          ? h('button', { type: 'button', class: 'job-progress-cancel', onClick: () => job.cancel().catch((error) => emit('error', error)) }, all.cancel)
          : null,
      ])
    }
  },
})

/** The names of before, so that such a job can be shown where components expect them. */
const named = (job) => job && { ...job, progress_percentage: job.progress, human_readable_error: job.error_message ?? '' }

/** One job for each component, with callbacks: onJobFinished, onJobFailed, onJobCancelled, onJobCancelFailed, showError. */
export const jobMixin = {
  inject: { turnaboutJobs: { from: KEY, default: null } },
  data: () => ({ job: null, cancelLoading: false }),
  computed: {
    jobIsRunning() {
      return this.job !== null && !isEnded(this.job.state)
    },
    jobIsFinished() {
      return this.job?.state === 'success'
    },
    jobIsEnded() {
      return this.job !== null && isEnded(this.job.state)
    },
    jobHasFailed() {
      return ['failed', 'cancelled', 'gone'].includes(this.job?.state)
    },
    jobHumanReadableState() {
      if (!this.job) return ''
      const own = this.getCustomHumanReadableJobState?.(this.job.state)
      return own || view(this.job, this.turnaboutJobs?.words).text
    },
  },
  methods: {
    /** Follows a job, given as `{ id, .. }` or by its id. */
    createAndMonitorJob(job) {
      const id = typeof job === 'string' ? job : job.id
      this._jobStop?.()
      this.job = null
      this._job = this.turnaboutJobs.jobs.track(id, typeof job === 'string' || !job.state ? undefined : job)
      let over = false
      this._jobStop = this._job.subscribe((now) => {
        this.job = named(now)
        if (over || !isEnded(now.state)) return
        over = true
        if (now.state === 'success') this.onJobFinished?.()
        else if (now.state === 'cancelled') this.onJobCancelled?.()
        else {
          this.showError?.({ error: now.error_code ?? now.state, message: view(now).text })
          this.onJobFailed?.()
        }
      })
    },
    async cancelJob() {
      this.cancelLoading = true
      try {
        await this._job?.cancel()
      } catch (error) {
        this.showError?.({ error: error.code, message: error.message })
        this.onJobCancelFailed?.(error)
      } finally {
        this.cancelLoading = false
      }
    },
  },
  beforeUnmount() {
    this._jobStop?.()
  },
}
