//! A statement that is prepared on one connection, run there, and measured there by the pages that it touches.

use std::fmt::Display;

use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::store::postgres::connect::{Mode, Tx};

/// A statement of the store with its arguments.
pub(in super::super) struct Prepared {
    pub(in super::super) name: &'static str,
    sql: String,
    /// Whether it runs in a transaction of the store, with the settings for hot statements.
    hot: bool,
    args: String,
}

impl Prepared {
    /// A statement that runs inside a transaction of the store.
    pub(in super::super) fn hot(name: &'static str, sql: &str, args: String) -> Self {
        Self {
            name,
            sql: sql.to_owned(),
            hot: true,
            args,
        }
    }

    /// A statement that is a transaction of its own.
    pub(in super::super) fn alone(name: &'static str, sql: &str, args: String) -> Self {
        Self {
            hot: false,
            ..Self::hot(name, sql, args)
        }
    }

    pub(in super::super) async fn prepare(&self, client: &Client) {
        let Self { name, sql, .. } = self;
        client
            .batch_execute(&format!("prepare {name} as {sql}"))
            .await
            .unwrap_or_else(|e| panic!("{name}: {e:?}"));
    }

    /// Runs a command as the store would, and rolls it back.
    async fn within(&self, client: &Client, command: &str) -> Vec<SimpleQueryMessage> {
        let begin = if self.hot {
            Tx::begin(Mode::Durable)
        } else {
            "begin".to_owned()
        };
        client.batch_execute(&begin).await.expect("it begins");
        let messages = client.simple_query(command).await;
        let messages = messages.unwrap_or_else(|e| panic!("{}: {e:?}", self.name));
        client.batch_execute("rollback").await.expect("it ends");
        messages
    }

    fn call(&self) -> String {
        let Self { name, args, .. } = self;
        if args.is_empty() {
            format!("execute {name}")
        } else {
            format!("execute {name}({args})")
        }
    }

    /// Runs it often enough for the server to keep a plan.
    pub(in super::super) async fn settle(&self, client: &Client) {
        for _ in 0..6 {
            self.within(client, &self.call()).await;
        }
    }

    /// Runs it, and tells how.
    pub(in super::super) async fn explain(&self, client: &Client) -> Value {
        let command = format!("explain (analyze, buffers, format json) {}", self.call());
        let messages = self.within(client, &command).await;
        let text: String = messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            })
            .collect();
        let plans: Value = serde_json::from_str(&text).expect("a plan in JSON");
        plans[0]["Plan"].clone()
    }
}

/// Pages touched, by statements inside functions too. Parts of a statement that write and whose rows nobody reads run after
/// the rest: those are added.
pub(in super::super) fn pages(plan: &Value) -> u64 {
    let touched = |plan: &Value| -> u64 {
        ["Shared Hit Blocks", "Shared Read Blocks"]
            .iter()
            .filter_map(|key| plan[key].as_u64())
            .sum()
    };
    let parts = plan["Plans"].as_array().into_iter().flatten();
    let writing = parts.filter(|part| part["Node Type"] == "ModifyTable");
    touched(plan) + writing.map(touched).sum::<u64>()
}

/// An array, as text that becomes one of whatever type is wanted.
pub(in super::super) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("'{{{}}}'", items.join(","))
}

pub(in super::super) fn same(item: &str, times: usize) -> String {
    list(vec![item; times])
}
