//! Who asks, and what they may see.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use turnabout::{Job, JobId};

use super::extract::no_nul;
use super::types::{Code, Problem};
use crate::auth::{Holder, Minted, Role};

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
        Self {
            name: format!("browser:{}", minted.id),
            key: Some(format!("browser:{}", minted.id)),
            sent: None,
            role: Role::Browser(Arc::clone(&minted.grant)),
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

    /// An error unless they may change what is set for groups, tasks and executors.
    pub(super) fn operator(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin | Role::Operator => Ok(()),
            _ => Err(Problem::new(
                Code::Forbidden,
                "only an operator or an administrator may do this",
            )),
        }
    }

    /// An error unless they may do everything.
    pub(super) fn admin(&self) -> Result<(), Problem> {
        match self.role {
            Role::Admin => Ok(()),
            _ => Err(Problem::new(Code::Forbidden, "only an administrator may do this")),
        }
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
