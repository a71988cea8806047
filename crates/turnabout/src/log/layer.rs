//! A layer for `tracing`: events inside a handler become lines of its job's log.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::{Level, TARGET};
use crate::executor::hand::Held;
use crate::executor::news::News;

/// Whether anyone has made a layer: without one, attempts need not introduce themselves.
static WANTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The attempt whose span is just being made on this thread.
    static ENTERING: RefCell<Option<Attempt>> = const { RefCell::new(None) };
}

/// Whose span it is.
#[derive(Clone)]
struct Attempt {
    held: Arc<Held>,
    news: Arc<News>,
}

/// Keeps the events of `tracing` that happen inside a handler as lines of its job's log: also those of libraries, and of
/// spawned tasks that run in the handler's span. Events of level info and above, unless said otherwise.
///
/// ```no_run
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(turnabout::log::layer())
///     .init();
/// ```
pub fn layer() -> LogLayer {
    WANTED.store(true, Relaxed);
    LogLayer { level: Level::Info }
}

/// What [`layer`] returns.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it is added to a subscriber"]
pub struct LogLayer {
    level: Level,
}

impl LogLayer {
    /// Events that matter less are left out.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }
}

/// Makes the span of an attempt, so that the layer knows whose it is.
pub(crate) fn entering<T>(held: &Arc<Held>, news: &Arc<News>, span: impl FnOnce() -> T) -> T {
    if !WANTED.load(Relaxed) {
        return span();
    }
    let attempt = Attempt {
        held: Arc::clone(held),
        news: Arc::clone(news),
    };
    ENTERING.with_borrow_mut(|entering| *entering = Some(attempt));
    let span = span();
    ENTERING.take();
    span
}

impl<S> Layer<S> for LogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let attempt = ENTERING.with_borrow(Clone::clone);
        if let Some(attempt) = attempt
            && let Some(span) = context.span(id)
        {
            span.extensions_mut().replace(attempt);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let level = level(*metadata.level());
        // What was written to the log is in it already.
        if level < self.level || metadata.target() == TARGET {
            return;
        }
        let Some(mut scope) = context.event_scope(event) else {
            return;
        };
        let attempt = scope.find_map(|span| span.extensions().get::<Attempt>().cloned());
        if let Some(attempt) = attempt {
            let mut text = Text::default();
            event.record(&mut text);
            attempt.held.log(&attempt.news).buffer().push(level, text.line());
        }
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::TRACE => Level::Trace,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::INFO => Level::Info,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::ERROR => Level::Error,
    }
}

/// An event in one line: its message, then its fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn line(self) -> String {
        match (self.message.is_empty(), self.fields.is_empty()) {
            (false, false) => format!("{} {}", self.message, self.fields),
            (false, true) => self.message,
            (true, _) => self.fields,
        }
    }

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            self.message.write_fmt(value)
        } else {
            let space = if self.fields.is_empty() { "" } else { " " };
            write!(self.fields, "{space}{}={value}", field.name())
        };
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, format_args!("{}", crate::error::chain(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}
