//! A program without the feature `otel`: nothing is recorded, and what others have recorded is handed on.

use anyhow::bail;
use tracing::{Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Identity;

use crate::config::Traces;

/// There is none.
pub(crate) enum Sender {}

impl Sender {
    /// Whoever wants traces has to hear that there will be none.
    pub(crate) fn new(settings: &Traces) -> anyhow::Result<Option<Self>> {
        if settings.endpoint.is_some() {
            bail!(
                "traces.endpoint is set, but this program was built without OpenTelemetry; build it with \
                 `cargo build --release --features otel`, or remove the setting"
            );
        }
        Ok(None)
    }

    pub(crate) fn layer<S: Subscriber>(&self) -> impl Layer<S> {
        match *self {}
        #[expect(unreachable_code, reason = "says which type it would be")]
        Identity::new()
    }

    #[expect(clippy::unused_async, reason = "as where there is a sender")]
    pub(crate) async fn end(self) {
        match self {}
    }
}

/// What to hand on: nothing of ours.
pub(crate) fn current() -> Option<String> {
    None
}

pub(crate) fn belongs(span: Span, _parent: Option<&str>) -> Span {
    span
}
