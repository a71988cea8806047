//! The REST API under `/api/v1`, and the page that uses it: one file for each noun. The list of routes is here, everything else below.
//!
//! ```text
//! POST   /api/v1/jobs                    submit one
//! POST   /api/v1/jobs/batch              submit many: an outcome for each
//! GET    /api/v1/jobs                    list
//! POST   /api/v1/jobs/bulk               cancel, restart, delete, retry all that match, or change their priority
//! GET    /api/v1/operations              such changes in the background; one; stop it
//! GET    /api/v1/jobs/{id}               one job
//! DELETE /api/v1/jobs/{id}               forget one that has ended
//! POST   /api/v1/jobs/{id}/cancel        cancel it
//! POST   /api/v1/jobs/{id}/restart       make it wait again
//! POST   /api/v1/jobs/{id}/retry         try it now: it is stuck, or delayed
//! PUT    /api/v1/jobs/{id}/priority      make it more or less urgent
//! GET    /api/v1/jobs/{id}/logs          its log, by page or followed
//! GET    /api/v1/jobs/{id}/attempts      what became of each attempt
//! GET    /api/v1/jobs/{id}/result        what it returned
//! GET    /api/v1/jobs/{id}/explain       why it waits
//! GET    /api/v1/summary                 by task, priority and state; rates
//! GET    /api/v1/trends                  the last hour, every ten seconds
//! GET    /api/v1/shares                  who gets which share of the slots
//! GET    /api/v1/failures                what failed, by kind
//! GET    /api/v1/doctor                  what is wrong now, and what mends it
//! GET    /api/v1/audit                   who did what, and when
//! GET    /api/v1/groups                  by group, and what is set for them
//! GET    /api/v1/groups/{group}          one group
//! PATCH  /api/v1/groups/{group}          its weight, its limits, whether it is paused
//! GET    /api/v1/queues                  who serves them, and which are paused
//! GET    /api/v1/queues/{queue}          one queue
//! PATCH  /api/v1/queues/{queue}          whether it is paused
//! GET    /api/v1/tasks                   what executors run, and what is set for it
//! GET    /api/v1/tasks/{task}            one task
//! PATCH  /api/v1/tasks/{task}            its limit, whether it is paused
//! GET    /api/v1/schedules               jobs that are submitted again and again
//! POST   /api/v1/schedules/check         explain an expression
//! GET    /api/v1/schedules/{name}        one schedule
//! PUT    /api/v1/schedules/{name}        make it, or make another one of it
//! PATCH  /api/v1/schedules/{name}        change it
//! DELETE /api/v1/schedules/{name}        delete it
//! POST   /api/v1/schedules/{name}/pause  stop it for a while (resume, reset)
//! POST   /api/v1/schedules/{name}/run    submit a job of it now
//! POST   /api/v1/schedules/{name}/backfill  make up for times of the past
//! GET    /api/v1/schedules/{name}/next   its next times
//! GET    /api/v1/schedules/{name}/history   what became of its times
//! GET    /api/v1/schedule-events         server-sent events: what happens to schedules
//! GET    /api/v1/executors               who runs jobs
//! POST   /api/v1/executors/{id}/drain    it takes no more jobs
//! GET    /api/v1/events                  server-sent events: what becomes of jobs
//! POST   /api/v1/events                  the same, for more ids than an address holds
//! POST   /api/v1/tokens                  mint a short-lived token for a browser
//! POST   /api/v1/tokens/rotate           revoke all minted tokens
//! POST   /api/v1/notify                  look for jobs now
//! GET    /api/v1/running                 what runs on the executor beside this server
//! POST   /api/v1/shutdownAndExit         end this server, gently
//! GET    /api/v1/me                      who asks, and what pages show beside jobs
//! GET    /api/info/version               which program answers
//! GET    /api/openapi.json, /api/docs    this list for programs, and for people
//! GET    /healthz, /readyz, /metrics     for those who look after the server
//! GET    /, /dashboard/...               the operator's page
//! ```

mod answers;
mod audit;
mod caller;
mod connections;
mod crowd;
mod dashboard;
mod described;
mod doctor;
mod events;
mod executors;
mod exit;
mod extract;
mod failures;
mod global;
mod groups;
mod guard;
mod info;
mod jobs;
mod live;
mod me;
mod metrics;
mod minting;
mod mount;
mod needs;
mod openapi;
mod operations;
mod prefix;
mod problem;
mod queues;
mod sampler;
mod schedules;
mod serve;
mod settings;
mod shared;
mod shares;
mod shown;
mod state;
mod stream;
mod summary;
mod sums;
mod tasks;
mod tls;
mod tokens;
pub(crate) mod types;
mod webhooks;

pub(crate) use audit::{AuditQuery, json as as_json};
pub(crate) use exit::{Exit, Wait};
pub(crate) use failures::FailuresQuery;
pub(crate) use groups::weigh;
pub(crate) use live::Control;
pub use mount::{Access, Mount, MountError};
pub(crate) use serve::{Bound, Server};
pub(crate) use settings::ApiSettings;
pub(crate) use tasks::limits_told;
pub(crate) use tls::TlsFiles;
pub(crate) use webhooks::{GROUP as WEBHOOK_GROUP, On, TASK as WEBHOOK_TASK, Webhook};
