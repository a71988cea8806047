//! What a handler returns when it does not succeed, what people are told about it, and how a submit is refused.

use std::fmt;
use std::time::Duration;

use crate::error::chain;
use crate::job::Described;
use crate::lifecycle::Event;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a handler returns. `?` works on any error and means: try again later.
pub type TaskResult<T = ()> = Result<T, TaskError>;

/// Why an attempt did not succeed, and what should happen next.
pub struct TaskError {
    pub(crate) verdict: Verdict,
    /// `None`: there is nothing wrong.
    pub(crate) error: Option<BoxError>,
    pub(crate) described: Described,
}

/// What a handler wants to happen after an attempt that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Retry,
    RetryAfter(Duration),
    Permanent,
    Snooze(Duration),
}

impl Verdict {
    pub(crate) fn event(self) -> Event {
        match self {
            Self::Retry => Event::Fail,
            Self::RetryAfter(delay) => Event::RetryAfter(delay),
            Self::Permanent => Event::FailForGood,
            Self::Snooze(delay) => Event::Snooze(delay),
        }
    }
}

impl TaskError {
    /// Trying again may help: the job is retried as its task says.
    pub fn retry(error: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Retry, error)
    }

    /// Trying again may help, but not before `delay` has passed.
    pub fn retry_after(delay: Duration, error: impl Into<BoxError>) -> Self {
        Self::new(Verdict::RetryAfter(delay), error)
    }

    /// Trying again is useless: the job fails for good.
    pub fn permanent(error: impl Into<BoxError>) -> Self {
        Self::new(Verdict::Permanent, error)
    }

    /// Nothing is wrong, but it is too early: call the handler again after `delay`. Does not count as an attempt.
    pub fn snooze(delay: Duration) -> Self {
        Self {
            verdict: Verdict::Snooze(delay),
            error: None,
            described: Described::default(),
        }
    }

    /// Whether trying again is useless.
    pub fn is_permanent(&self) -> bool {
        self.verdict == Verdict::Permanent
    }

    /// What people are told about it: a stable code, and a sentence. Goes before the task's mapping
    /// ([`Executor::describe_error`](crate::Executor::describe_error)).
    pub fn described(mut self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.described = Described::new(code, message);
        self
    }

    fn new(verdict: Verdict, error: impl Into<BoxError>) -> Self {
        Self {
            verdict,
            error: Some(error.into()),
            described: Described::default(),
        }
    }

    /// The error and its causes in one line.
    pub(crate) fn message(&self) -> Option<String> {
        self.error.as_ref().map(|error| chain(&**error))
    }
}

impl<E: Into<BoxError>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.verdict, self.message().unwrap_or_default())
    }
}

/// How an attempt failed, as [`Executor::describe_error`](crate::Executor::describe_error) is shown it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure<'a> {
    /// The handler returned this error.
    Error(&'a (dyn std::error::Error + Send + Sync + 'static)),
    /// The handler panicked with this message.
    Panic(&'a str),
    /// The handler took longer than its task allows.
    TimedOut,
}

impl Failure<'_> {
    /// The error, or one of its causes, if it is of this type.
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        let Self::Error(error) = self else { return None };
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(*error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

/// Why [`Task::prepare`](crate::Task::prepare) does not let a job in. `?` works on any error, with the code `refused`.
#[derive(Debug)]
pub struct Refused {
    pub(crate) described: Described,
    pub(crate) status: Option<u16>,
}

impl Refused {
    /// A code that programs can rely on, and a sentence for people.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            described: Described::new(code, message),
            status: None,
        }
    }

    /// The HTTP status that a web application should answer with: 422 unless said otherwise, see
    /// [`Error::http_status`](crate::Error::http_status). One that is no error (from 400 to 599) is passed over.
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status).filter(|status| (400..=599).contains(status));
        self
    }
}

impl<E: Into<BoxError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::new("refused", chain(&*error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn a_cause_is_found_by_its_type() {
        let cause = "x".parse::<i32>().expect_err("not a number");
        let error: TaskError = Outer(cause).into();
        assert_eq!(error.message().as_deref(), Some("outer: invalid digit found in string"));
        let error = error.error.expect("an error");
        let failure = Failure::Error(&*error);
        assert!(failure.find::<Outer>().is_some());
        assert!(failure.find::<std::num::ParseIntError>().is_some());
        assert!(failure.find::<fmt::Error>().is_none());
        assert!(Failure::TimedOut.find::<Outer>().is_none());
    }
}
