//! Lists of jobs, newest first, a page at a time.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use uuid::Uuid;

use super::Jobs;
use super::scope::Scope;
use crate::error::{Error, Result};
use crate::job::{Job, JobId, Reason, State, writable};
use crate::store::overview::Not;
use crate::store::{Filter, Store};

/// A page holds no more jobs ..
const MAX_PAGE: u32 = 1000;
/// .. and, where arguments and results are asked for, about so many bytes of them, and one job at least.
const MAX_BYTES: usize = 1 << 20;
/// So many whole jobs are read at once.
const WHOLE: u32 = 8;

/// Which jobs to list: everything that is said must hold. Awaited, it gives one page.
#[derive(Clone, Debug)]
#[must_use = "nothing is listed until it is awaited"]
pub struct List {
    pub(super) jobs: Jobs,
    pub(super) filter: Filter,
    /// Whose jobs are seen.
    scope: Option<Scope>,
    /// How many jobs are looked at for one page.
    looks: Option<u32>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Page {
    /// The jobs, newest first.
    pub jobs: Vec<Job>,
    /// Give this to [`List::before`] for the next page. None: this was the last one.
    pub next: Option<JobId>,
}

impl List {
    pub(super) fn new(jobs: Jobs) -> Self {
        let filter = Filter {
            limit: 100,
            ..Filter::default()
        };
        Self {
            jobs,
            filter,
            scope: None,
            looks: None,
        }
    }

    pub(super) fn within(jobs: Jobs, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..Self::new(jobs)
        }
    }

    /// In this state. Said several times: in one of them.
    pub fn state(mut self, state: State) -> Self {
        if !self.filter.states.contains(&state) {
            self.filter.states.push(state);
        }
        self
    }

    /// In one of these states, such as [`State::UNFINISHED`], [`State::ENDED`] or [`State::ACTIVE`].
    pub fn states(mut self, states: &[State]) -> Self {
        for state in states {
            self = self.state(*state);
        }
        self
    }

    /// Without arguments and results, which may be large: in their place stand `null` and nothing.
    pub fn brief(mut self) -> Self {
        self.filter.brief = true;
        self
    }

    /// Of this task.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.filter.task = Some(task.into());
        self
    }

    /// Of this group.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.filter.group = Some(group.into());
        self
    }

    /// Of this owner.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.filter.owner = Some(owner.into());
        self
    }

    /// In this queue.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.filter.queue = Some(queue.into());
        self
    }

    /// With this entry in their meta. Said several times: with all of them.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.filter.meta.insert(key.into(), value.into());
        self
    }

    /// But not these.
    pub fn not(mut self, not: Not) -> Self {
        self.filter.not = not;
        self
    }

    /// Whose subject contains this text. Of letters, a to z and A to Z are the same.
    pub fn subject(mut self, text: impl Into<String>) -> Self {
        self.filter.subject = Some(text.into());
        self
    }

    /// Submitted then or later.
    pub fn since(mut self, moment: Timestamp) -> Self {
        self.filter.since = Some(writable(moment));
        self
    }

    /// Submitted before then.
    pub fn until(mut self, moment: Timestamp) -> Self {
        self.filter.until = Some(writable(moment));
        self
    }

    /// For this reason in their state.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.filter.reason = Some(reason);
        self
    }

    /// Whose last error has this code.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.filter.code = Some(code.into());
        self
    }

    /// Submitted by the handler of this job, or by someone who named it as the parent.
    pub fn parent(mut self, parent: JobId) -> Self {
        self.filter.parent = Some(parent);
        self
    }

    /// Held by this executor, or ended by it. It is named by its incarnation, which a restart changes.
    pub fn executor(mut self, incarnation: Uuid) -> Self {
        self.filter.executor = Some(incarnation);
        self
    }

    /// With so many attempts, or more.
    pub fn attempts(mut self, least: u32) -> Self {
        self.filter.attempts = Some(least);
        self
    }

    /// Whether it asks for this job, on whichever page. Who may see the job is another question.
    pub fn includes(&self, job: &Job) -> bool {
        self.filter.includes(job)
    }

    /// Older than this one: [`Page::next`] of the page before.
    pub fn before(mut self, cursor: JobId) -> Self {
        self.filter.before = Some(cursor);
        self
    }

    /// How many jobs a page has at the most: from 1 to 1000, 100 unless said otherwise. Where their arguments and results are
    /// long (1 MiB together), a page has fewer, and [`Page::next`] says where to go on; [`List::brief`] leaves them out.
    pub fn limit(mut self, limit: u32) -> Self {
        self.filter.limit = limit;
        self
    }

    /// For a page, looks at about so many jobs that are not asked for, and no more: where few match among many, a page may have
    /// fewer jobs than its limit, or none, and [`Page::next`] says where to go on. Unless this is said, it looks until the
    /// page is full.
    pub fn looks(mut self, looks: u32) -> Self {
        self.looks = Some(looks);
        self
    }

    /// How many there are on all pages together, counted up to `limit`.
    pub async fn count(mut self, limit: u32) -> Result<u64> {
        if !self.narrow()? {
            return Ok(0);
        }
        let filter = Filter {
            limit,
            before: None,
            ..self.filter
        };
        self.jobs.store().count(&filter).await
    }

    /// Checks what is asked for, and keeps to what may be seen. Says whether anything is left to look at.
    fn narrow(&mut self) -> Result<bool> {
        let Filter {
            task,
            group,
            owner,
            queue,
            subject,
            code,
            ..
        } = &self.filter;
        for (what, text) in [
            ("task", task),
            ("group", group),
            ("owner", owner),
            ("queue", queue),
            ("subject", subject),
            ("code", code),
        ] {
            if text.as_ref().is_some_and(|text| text.contains('\0')) {
                return Err(Error::invalid(what, "it contains a NUL character"));
            }
        }
        Ok(match self.scope.take() {
            Some(scope) => narrow(&mut self.filter, scope),
            None => true,
        })
    }

    async fn page(mut self) -> Result<Page> {
        let limit = self.filter.limit;
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(Error::invalid(
                "page size",
                format!("{limit} is not from 1 to {MAX_PAGE}"),
            ));
        }
        if !self.narrow()? {
            return Ok(Page {
                jobs: Vec::new(),
                next: None,
            });
        }
        // One more than asked for tells whether there is a next page.
        let mut filter = Filter {
            limit: limit + 1,
            ..self.filter
        };
        let store = self.jobs.store();
        let mut end = None;
        if let Some(looks) = self.looks.filter(|_| !filter.is_plain()) {
            end = store.depth(&filter, looks).await?;
            filter.from = end;
        }
        let (mut jobs, cut) = if filter.brief {
            (store.list(&filter).await?, false)
        } else {
            whole(&**store, filter).await?
        };
        let more = cut || jobs.len() > limit as usize;
        jobs.truncate(limit as usize);
        let next = jobs.last().filter(|_| more).map(|job| job.id).or(end);
        Ok(Page { jobs, next })
    }
}

/// Reads whole jobs, a few at a time, until there are enough, or they are long enough. Says whether that is why it has stopped.
async fn whole(store: &dyn Store, mut filter: Filter) -> Result<(Vec<Job>, bool)> {
    let mut wanted = filter.limit;
    let mut jobs: Vec<Job> = Vec::new();
    let mut bytes = 0;
    while wanted > 0 {
        filter.limit = wanted.min(WHOLE);
        let found = store.list(&filter).await?;
        let last = found.len() < filter.limit as usize;
        for job in found {
            if bytes >= MAX_BYTES {
                return Ok((jobs, true));
            }
            bytes += job.args.len() + job.result.as_ref().map_or(0, String::len);
            filter.before = Some(job.id);
            jobs.push(job);
        }
        if last {
            break;
        }
        wanted = wanted.saturating_sub(WHOLE);
    }
    Ok((jobs, false))
}

/// Makes a filter look at these jobs only. Says whether anything is left to look at.
fn narrow(filter: &mut Filter, scope: Scope) -> bool {
    let Scope { group, owner } = scope;
    let foreign = |asked: &Option<String>, seen: &Option<String>| asked.is_some() && seen.is_some() && asked != seen;
    let group = Some(group);
    if foreign(&filter.group, &group) || foreign(&filter.owner, &owner) {
        return false;
    }
    filter.group = group;
    filter.owner = owner.or(filter.owner.take());
    true
}

impl IntoFuture for List {
    type Output = Result<Page>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.page())
    }
}
