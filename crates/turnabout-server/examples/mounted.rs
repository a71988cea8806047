//! API and dashboard of Turnabout inside an axum application, with an executor in the same process:
//!
//! ```text
//! cargo run -p turnabout-server --example mounted
//! ```
//!
//! Then open <http://127.0.0.1:3000/turnabout/> with the token that it prints. It asks itself once and ends with `--once`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde::{Deserialize, Serialize};
use turnabout::{Context, Executor, Jobs, Refused, Submitting, Task, TaskResult};
use turnabout_server::Access;
use uuid::Uuid;

#[derive(Serialize, Deserialize)]
struct Resize {
    image: String,
    width: u32,
}

impl Task for Resize {
    const NAME: &'static str = "resize";

    async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
        if self.width == 0 {
            return Err(Refused::new("no-width", "An image must be at least one pixel wide."));
        }
        Ok(())
    }
}

async fn resize(cx: Context, task: Resize) -> TaskResult<String> {
    cx.log().info(format!("{} to {} pixels", task.image, task.width));
    Ok(format!("{}-{}.png", task.image, task.width))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // With its task, so that `prepare` runs when a job is submitted over HTTP.
    let jobs = Jobs::open("sqlite::memory:").await?.with_task::<Resize>();
    let executor = Arc::new(Executor::new(&jobs).task(resize).start().await?);
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let mounted = turnabout_server::router(&jobs)
        .token("operations", Access::Admin, &token)
        .executor(&executor)
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "The application" }))
        .merge(mounted);

    let once = std::env::args().any(|word| word == "--once");
    let listener = tokio::net::TcpListener::bind(if once { "127.0.0.1:0" } else { "127.0.0.1:3000" }).await?;
    let base = format!("http://{}", listener.local_addr()?);
    println!("{base}/turnabout/ with the token {token}");
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    if once {
        // Our reqwest leaves it to the program who encrypts.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let submit = reqwest::Client::new()
            .post(format!("{base}/turnabout/api/v1/jobs"))
            .bearer_auth(&token)
            .json(&serde_json::json!({ "task": "resize", "args": { "image": "cat", "width": 640 } }));
        let answer: serde_json::Value = submit.send().await?.error_for_status()?.json().await?;
        let id = answer["id"].as_str().ok_or("no id")?.parse()?;
        let job = jobs.watch(id).ended().await?;
        println!("{:?}", job.result::<String>()?);
        assert_eq!(job.result::<String>()?.as_deref(), Some("cat-640.png"));
        server.abort();
    } else {
        server.await??;
    }
    executor.shutdown(Duration::from_secs(30)).await;
    Ok(())
}
