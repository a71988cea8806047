//! What all handlers share.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use turnabout::{Error, ExecutorHandle, Job, JobId, Jobs};

use super::caller::Caller;
use super::crowd::Crowd;
use super::exit::Exit;
use super::live::{Control, Live};
use super::metrics::Gauges;
use super::minting::Minting;
use super::sampler::Sampler;
use super::settings::ApiSettings;
use super::sums::Sums;
use super::types::Problem;
use crate::auth::Limiter;
use crate::tasks::Resting;

/// Shared by all requests.
pub(super) type App = Arc<Inner>;

pub(super) struct Inner {
    pub(super) jobs: Jobs,
    pub(super) settings: ApiSettings,
    /// What may change while the server runs.
    pub(super) control: Control,
    /// How often, by token.
    pub(super) limiter: Limiter,
    /// How often someone may send a token that is not known, by address.
    pub(super) guesses: Limiter,
    /// Requests that are under way.
    pub(super) requests: Crowd,
    /// Streams that are read.
    pub(super) streams: Crowd,
    /// The keys of tokens for browsers.
    pub(super) minting: Minting,
    /// The executor beside this server, if there is one.
    pub(super) executor: Option<Arc<ExecutorHandle>>,
    /// Webhooks whose receivers are not well, so that their messages wait.
    pub(super) resting: Resting,
    /// Sums over many jobs, which are not added up for everyone anew.
    pub(super) sums: Sums,
    /// What was last told about the store.
    pub(super) gauges: tokio::sync::Mutex<Gauges>,
    /// Changes of many jobs that run in the background.
    pub(super) operations: super::operations::Running,
    /// What was seen of the shares of groups, and of the last hour.
    pub(super) sampler: Sampler,
    /// Ends the whole program, as a signal would.
    pub(super) exit: Exit,
    /// Cancelled when this server ends: streams end then.
    pub(super) ending: CancellationToken,
}

impl Inner {
    /// What is in force at present.
    pub(super) fn live(&self) -> Arc<Live> {
        self.control.now()
    }

    /// A job that this caller may see; any other does not exist.
    pub(super) async fn job(&self, caller: &Caller, id: JobId) -> Result<Job, Problem> {
        let job = self.jobs.get(id).await?;
        if caller.sees(&job) {
            Ok(job)
        } else {
            Err(Error::NotFound(id).into())
        }
    }
}
