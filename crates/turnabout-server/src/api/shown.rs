//! What of a job is shown to whom. Its arguments are its task's and its group's: owners and browsers see the fields that the
//! task makes public. Browsers also get no word that was written for those who look after the server.

use turnabout::job::Brief;
use turnabout::{Job, State};

use super::caller::Caller;
use super::types::{BriefView, JobView, null};
use crate::auth::{Role, Scope};

impl Caller {
    /// A job, as this caller sees it.
    pub(super) fn shown(&self, job: Job) -> JobView {
        let mut view = JobView::from(job);
        if !self.rights.has(Scope::Read) {
            view.args = null();
            view.result = None;
            view.meta.clear();
            plain(&mut view.brief);
        }
        match &self.role {
            Role::Admin | Role::Operator | Role::Viewer | Role::Group(_) => {}
            Role::Owner { .. } => view.args = null(),
            Role::Browser(_) => {
                view.args = null();
                view.meta.clear();
                view.unique = None;
                view.executor = None;
                view.executor_name = None;
                plain(&mut view.brief);
            }
        }
        view
    }

    /// The same, in brief.
    pub(super) fn shown_brief(&self, job: &Brief) -> BriefView {
        let mut view = BriefView::from(job);
        if let Role::Browser(_) = &self.role {
            plain(&mut view);
        }
        view
    }
}

/// Errors in words for people only: those of the task, or some that say no more than everyone may know.
fn plain(view: &mut BriefView) {
    let trouble = matches!(view.state, State::Failed | State::Stuck);
    if trouble && view.error_message.is_none() {
        let words = match view.reason.as_deref() {
            Some("timed-out") => "It took too long.",
            Some("expired") => "It was not started in time.",
            Some("lost" | "interrupted") => "It was interrupted.",
            _ => "Something went wrong.",
        };
        view.error_message = Some(words.to_owned());
    }
    view.error = None;
}
