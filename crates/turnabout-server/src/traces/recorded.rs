//! Traces that are recorded and sent: with the feature `otel`.

use std::collections::HashMap;

use anyhow::Context as _;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::PARENT;
use crate::config::Traces;

/// Sends traces to their endpoint.
pub(crate) struct Sender(SdkTracerProvider);

impl Sender {
    /// None: there is no endpoint, and nothing is sent.
    pub(crate) fn new(settings: &Traces) -> anyhow::Result<Option<Self>> {
        let Some(endpoint) = &settings.endpoint else {
            return Ok(None);
        };
        let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let service = settings.service.clone();
        // The exporter works on a thread of its own, and makes a client there that must not be made on one of ours.
        let made = std::thread::spawn(move || {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(opentelemetry_client()?)
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(endpoint)
                .build()?;
            let resource = Resource::builder().with_service_name(service).build();
            let provider = SdkTracerProvider::builder()
                .with_batch_exporter(exporter)
                .with_resource(resource);
            anyhow::Ok(provider.build())
        });
        let provider = made.join().map_err(|_| anyhow::anyhow!("traces cannot be sent"))?;
        Ok(Some(Self(
            provider.context("traces cannot be sent to traces.endpoint")?,
        )))
    }

    /// Records what is to be sent.
    pub(crate) fn layer<S>(&self) -> impl Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("turnabout"))
    }

    /// Sends what is left.
    pub(crate) async fn end(self) {
        // It waits, so it has to do that elsewhere.
        let ended = tokio::task::spawn_blocking(move || self.0.shutdown()).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}

fn opentelemetry_client() -> anyhow::Result<reqwest::blocking::Client> {
    crate::auth::crypto::ready();
    Ok(reqwest::blocking::Client::builder()
        .timeout(std::time::Duration::from_secs(10))
        .build()?)
}

/// The trace that a text names.
fn context(parent: &str) -> opentelemetry::Context {
    let carrier = HashMap::from([(PARENT.to_owned(), parent.to_owned())]);
    TraceContextPropagator::new().extract(&carrier)
}

/// What to hand on, so that what others do belongs to what is done here. None: nothing is recorded.
pub(crate) fn current() -> Option<String> {
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut carrier);
    carrier.remove(PARENT)
}

/// A piece of work that belongs to a trace, if it is known to which.
pub(crate) fn belongs(span: Span, parent: Option<&str>) -> Span {
    if let Some(parent) = parent {
        // Where nothing is recorded there is nothing to belong to.
        let _ = span.set_parent(context(parent));
    }
    span
}
