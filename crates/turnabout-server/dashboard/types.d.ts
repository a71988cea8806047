// What the API answers with, as far as the page uses it. Only for checking types: browsers never see this file.

export type State = "waiting" | "scheduled" | "running" | "stuck" | "success" | "failed" | "cancelled";
export type Scope = "read" | "submit" | "cancel" | "operate" | "metrics" | "admin";
export type Priority = "high" | "normal" | "low";

export interface Links { job: string | null; task: string | null; group: string | null; executor: string | null; trace: string | null }
export interface Me {
  name: string; role: string; scopes: Scope[]; group: string | null; owner: string | null; token: boolean; version: string; time: string;
  links: Links;
}
export interface Brief {
  id: string; task: string; subject: string | null; group: string; owner: string | null; queue: string; priority: Priority;
  state: State; reason: string | null; cancelling: boolean; items: number; submitted: string; due: string | null;
  started: string | null; finished: string | null; attempts: number; progress: number; step: string | null;
  error: string | null; error_message: string | null; error_code: string | null;
}
export interface Job extends Brief {
  unique: string | null; meta: Record<string, string>; parent: string | null; expires: string | null; interruptions: number;
  losses: number; executor: string | null;
}
export interface Queue {
  queue: string; executors: number; slots: number; held: number; tasks: string[]; paused: boolean;
}
export interface Count { jobs: number; more: boolean }
export interface JobPage { jobs: Job[]; next: string | null; count?: Count }
export interface Attempt {
  number: number; executor: string; started: string; ended: string | null; reason: string | null; error: string | null;
  error_message: string | null; error_code: string | null;
}
export interface Explained {
  id: string; state: State; text: string; parked: number | null; place: number | null; groups: number; group_paused: boolean;
  all_paused: boolean; queue_paused: boolean; task_paused: boolean; group_full: boolean; task_full: boolean; known: boolean; silent: number | null;
  slots?: number; taken_by?: { group: string | null; jobs: number }[];
  predicted?: { earliest: string; latest: string | null; basis: string } | null;
}
export interface Line { number: number; attempt: number; level: string; time: string; message: string }
export interface TaskSum {
  task: string; priority: Priority; state: State; jobs: number; in_window?: number | null; items: number; average_items: number; items_per_minute: number | null;
  failures: number;
  oldest: string | null; first_reserved: string | null;
}
export interface Summary {
  tasks: TaskSum[];
  left_out?: number;
  rate: { seconds: number; submitted: number; success: number; failed: number; cancelled: number };
}
export interface Retention { success_seconds: number | null; failed_seconds: number | null; cancelled_seconds: number | null }
export interface SetBy { by: string; at: string; note?: string }
export interface Operation {
  id: string; action: string; by: string; begun: string; ended: string | null;
  state: "running" | "done" | "stopped" | "failed"; matched: number; more: boolean; changed: number; skipped: number;
  error: string | null;
}
export interface Group {
  group: string; ready: number; parked: number; held: number; items: number; oldest: string | null; weight: number;
  max_running: number | null; max_share?: number | null; max_unfinished: number | null; paused: boolean; retention?: Retention; set?: SetBy;
}
export interface Task {
  task: string; waiting: number; stuck: number; held: number; oldest: string | null; max_running: number | null;
  max_running_each: number | null; rate: string | null; effective: number; executors: { executor: string; held: number; most: number }[];
  paused: boolean; retention?: Retention; set?: SetBy;
  published: null | {
    queue: string; priority: Priority; retries: number; retry_delay_seconds: number; retry_cap_seconds: number;
    jitter: boolean; restartable: boolean; time_limit_seconds: number | null; max_unfinished: number | null;
  };
}
export interface Executor {
  id: string; name: string; slots: number; queues: string[]; tasks: string[]; version: string; seen: string; held: number;
  draining: boolean;
}
export interface Schedule {
  id: string; name: string; group: string | null; owner: string | null; task: string; expression: string;
  description: string; zone: string; enabled: boolean; overlap: string; missed: string; jitter_seconds: number;
  paused: null | { since: string; note: string | null; by: string | null }; next: string | null; due: string | null;
  stopped: string | null; waiting: string[]; last_time: string | null; last_job: string | null;
  declared_by: string | null; set_by_operator: string[]; created: string;
}
export interface Run {
  number: number; time: string | null; count: number; kind: string; at: string; late_seconds: number; job: string | null;
  state: State | null; finished: string | null; why: string | null;
}
export interface Share {
  group: string; weight: number; entitled: number; used: number; slot_seconds: number; ready: number; ready_more?: boolean;
  running: number;
  oldest_ready_ms: number | null; wait_p50_ms: number | null; wait_p95_ms: number | null; noisy: boolean; harmed: boolean;
  paused: boolean; max_running: number | null; set?: SetBy;
}
export interface Shares {
  minutes: number; slots: number | null; jain: number | null; rotation_ms: number | null; groups: Share[];
  rest?: { groups: number; used: number };
  /** Who has the oldest ready job. */
  oldest?: { group: string; ready_ms: number } | null;
}
export interface Trend {
  at: string; ready: number; running: number; slots: number; started: number; ended: number; failed: number;
}
export interface Trends { step_seconds: number; points: Trend[] }
export interface Finding {
  severity: "critical" | "warning" | "notice"; code: string; what: string; evidence: string; mend: string; link?: string | null;
}
export interface Doctor { verdict: string; findings: Finding[] }
export interface Failure {
  task: string; code: string | null; message: string; reason?: string | null; count: number; stuck?: number; first: string;
  last: string; example: string;
}
export interface AuditEntry {
  number: number; at: string; by: string; role: string; address: string | null; action: string; target: string | null;
  group: string | null; filter: unknown; count: number | null; before: unknown; after: unknown; note: string | null;
}
