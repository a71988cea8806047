//! The server of [`turnabout`] as a part of your own program: the REST API and the dashboard, mounted in an axum application.
//! Most users need only the program `turnabout`, which this crate builds, too.
//!
//! ```
//! use axum::Router;
//! use axum::routing::get;
//! use serde::{Deserialize, Serialize};
//! use turnabout::{Jobs, Refused, Submitting, Task};
//! use turnabout_server::Access;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Resize { image: String, width: u32 }
//!
//! impl Task for Resize {
//!     const NAME: &'static str = "resize";
//!
//!     async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
//!         if self.width == 0 {
//!             return Err(Refused::new("no-width", "An image must be at least one pixel wide."));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # async fn example(token: String) -> Result<(), Box<dyn std::error::Error>> {
//! // With its tasks, so that `prepare` runs when a job is submitted over HTTP.
//! let jobs = Jobs::open("sqlite://jobs.db").await?.with_task::<Resize>();
//! let app: Router = Router::new()
//!     .route("/", get(|| async { "The application" }))
//!     .merge(turnabout_server::router(&jobs).token("operations", Access::Admin, token).build()?);
//! // The dashboard is under /turnabout/, the API under /turnabout/api/v1/.
//! # Ok(()) }
//! ```
//!
//! See [`Mount`] for what can be said about it. What else the crate has is for its program, and may change with any release.

mod api;
mod auth;
mod cli;
mod config;
mod program;
mod tasks;
mod traces;

pub use api::{Access, Mount, MountError};
#[doc(hidden)]
pub use program::program;

/// API and dashboard of these jobs, for an axum application. Say who may come, [build](Mount::build) it, and merge it into the
/// application's router.
pub fn router(jobs: &turnabout::Jobs) -> Mount {
    Mount::new(jobs)
}
