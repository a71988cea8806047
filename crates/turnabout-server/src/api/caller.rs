//! Who asks, and what they may see.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use turnabout::{Job, JobId};

use super::extract::no_nul;
use super::types::{Code, Problem};
use crate::auth::{Holder, Minted, Rights, Role, Scope};

/// A token, and whose it is.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) token: Arc<str>,
    pub(super) holder: Holder,
}

/// Never shows the token.
impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sent")
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What their token is called, for the log.
    pub(super) name: String,
    pub(super) role: Role,
    /// What they may do.
    pub(super) rights: Arc<Rights>,
    /// The token that a browser was given, which ends.
    minted: Option<Minted>,
    /// Who shares limits with them. None: nobody needs a token here, and there are none.
    pub(super) key: Option<String>,
    /// The token that they have sent, and whose it was then.
    sent: Option<Sent>,
    /// Where they call from, if over the network.
    pub(super) address: Option<IpAddr>,
}

impl Caller {
    /// Whoever holds a token.
    pub(super) fn new(holder: Holder) -> Self {
        Self {
            key: Some(holder.key()),
            name: holder.name,
            role: holder.role,
            rights: holder.rights,
            minted: None,
            sent: None,
            address: None,
        }
    }

    /// Whoever needs none.
    pub(super) fn anyone(name: &str) -> Self {
        Self {
            key: None,
            ..Self::new(Holder::new("anyone", name, Role::Admin))
        }
    }

    /// The same, who has sent this token.
    pub(super) fn with(holder: Holder, token: &str) -> Self {
        Self {
            sent: Some(Sent {
                token: token.into(),
                holder: holder.clone(),
            }),
            ..Self::new(holder)
        }
    }

    /// The token that they have sent, unless it is a browser's.
    pub(super) fn sent(&self) -> Option<&Sent> {
        self.sent.as_ref()
    }

    /// As they are, calling from there.
    pub(super) fn at(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Whoever was given a minted token.
    pub(super) fn browser(minted: Minted) -> Self {
        let role = Role::Browser(Arc::clone(&minted.grant));
        Self {
            rights: Arc::new(Rights::of(&role)),
            role,
            name: format!("browser:{}", minted.id),
            key: Some(format!("browser:{}", minted.id)),
            sent: None,
            minted: Some(minted),
            address: None,
        }
    }

    /// The token of a browser, which ends.
    pub(super) fn minted(&self) -> Option<&Minted> {
        self.minted.as_ref()
    }

    /// The only jobs that they see, if that is said of single ones.
    pub(super) fn jobs(&self) -> Option<&[JobId]> {
        match &self.role {
            Role::Browser(grant) if !grant.jobs.is_empty() => Some(&grant.jobs),
            _ => None,
        }
    }

    /// Whether a job may exist for them, as far as its id tells.
    pub(super) fn may_see(&self, id: JobId) -> bool {
        match &self.role {
            Role::Browser(grant) => grant.names(id),
            _ => true,
        }
    }

    /// The only group that they see, if not all.
    pub(super) fn group(&self) -> Option<&str> {
        match &self.role {
            Role::Admin | Role::Operator | Role::Viewer => None,
            Role::Group(group) | Role::Owner { group, .. } => Some(group),
            Role::Browser(grant) => grant.group.as_deref(),
        }
    }

    /// The only owner that they see, if not all.
    pub(super) fn owner(&self) -> Option<&str> {
        match &self.role {
            Role::Owner { owner, .. } => Some(owner),
            Role::Browser(grant) => grant.owner.as_deref(),
            Role::Admin | Role::Operator | Role::Viewer | Role::Group(_) => None,
        }
    }

    /// Whether a job exists for them. Its group and owner never change, so what was true once stays true.
    pub(super) fn sees(&self, job: &Job) -> bool {
        self.may_see(job.id)
            && self.group().is_none_or(|group| job.group == group)
            && self.owner().is_none_or(|owner| job.owner.as_deref() == Some(owner))
    }

    /// An error unless they see everything.
    pub(super) fn sees_all(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin | Role::Operator | Role::Viewer => Ok(()),
            _ => Err(Problem::new(
                Code::Forbidden,
                "only those who look after the whole server may see this: admin, operator, viewer",
            )),
        }
    }

    /// An error unless their token has a scope.
    pub(super) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.rights.has(scope) {
            return Ok(());
        }
        let detail = format!(
            "this needs the scope `{}`, which the token does not have; its scopes: {}",
            scope.as_str(),
            self.rights.words()
        );
        Err(Problem {
            scope: Some(scope),
            ..Problem::new(Code::MissingScope, detail)
        })
    }

    /// An error if their token is for some tasks or queues only.
    pub(super) fn unlimited(&self) -> Result<(), Problem> {
        if self.rights.is_limited() {
            let detail = "this token is for some tasks or queues only, and a schedule may be of any; send another one";
            return Err(Problem::new(Code::Forbidden, detail));
        }
        Ok(())
    }

    /// An error if their token is not for jobs of this task in this queue. None: some job that matches, whatever it is.
    pub(super) fn reaches(&self, task: Option<&str>, queue: Option<&str>) -> Result<(), Problem> {
        let Rights { tasks, queues, .. } = &*self.rights;
        if let Some(tasks) = tasks
            && !task.is_some_and(|task| self.rights.takes(task))
        {
            return Err(only("task", tasks));
        }
        match queues {
            Some(queues) if !queue.is_some_and(|queue| queues.iter().any(|own| own == queue)) => {
                Err(only("queue", queues))
            }
            _ => Ok(()),
        }
    }

    /// The queue that a job of theirs goes to. None: the one of its task.
    pub(super) fn queue(&self, task: &str, said: Option<String>) -> Result<Option<String>, Problem> {
        let queue = match (said, self.rights.queues.as_deref()) {
            (None, Some([only])) => Some(only.clone()),
            (said, _) => said,
        };
        self.reaches(Some(task), queue.as_deref())?;
        Ok(queue)
    }

    /// An error if a job of this task would speak for the server: what it sends, the receiver takes for what has happened.
    pub(super) fn may_submit(&self, task: &str) -> Result<(), Problem> {
        if task.starts_with(super::WEBHOOK_TASK) && self.role != Role::Admin {
            return Err(Problem::new(
                Code::Forbidden,
                "what webhooks are told is submitted by the server itself",
            )
            .field("task"));
        }
        Ok(())
    }

    /// The group and the owner that a job of theirs gets: what they say, if they may say it, else their own.
    pub(super) fn place(
        &self,
        group: Option<String>,
        owner: Option<String>,
    ) -> Result<(Option<String>, Option<String>), Problem> {
        for (what, said) in [("group", &group), ("owner", &owner)] {
            if let Some(said) = said {
                no_nul(what, said)?;
            }
        }
        let own = |what: &str, said: Option<String>, own: Option<&str>| match (said, own) {
            (Some(said), Some(own)) if said != own => Err(Problem::new(
                Code::Forbidden,
                format!("this token is for one {what} only, and not for `{said}`"),
            )
            .field(what)),
            (said, own) => Ok(said.or_else(|| own.map(ToOwned::to_owned))),
        };
        Ok((own("group", group, self.group())?, own("owner", owner, self.owner())?))
    }
}

/// What a token is not for.
fn only(what: &str, own: &[String]) -> Problem {
    let detail = format!(
        "this token is for the {what}s {} only; name one of them",
        own.join(", ")
    );
    Problem::new(Code::Forbidden, detail).field(what)
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Caller {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

/// Put there by the guard, which lets nobody in without.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::new(Code::Unauthorized, "no token was given"))
    }
}
