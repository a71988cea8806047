//! The statements, with the name of the schema in place.

use crate::error::{Error, Result};

/// A statement that was written for the schema `turnabout`, for another one. Every name in our SQL is qualified, so
/// that nothing depends on a search path (which a pooler might change under us).
pub(super) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("turnabout.", &format!("{schema}."))
        .replace("'turnabout'", &format!("'{schema}'"))
}

/// A schema's name goes into statements as it is, so it must be a plain one.
pub(super) fn check_schema(schema: &str) -> Result<()> {
    let plain = schema.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && schema
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && schema.len() <= 50
        && !schema.starts_with("pg_");
    if plain {
        Ok(())
    } else {
        Err(Error::invalid(
            "schema",
            format!("`{schema}` is not a plain name: up to 50 lower-case letters, digits and underscores"),
        ))
    }
}

macro_rules! statements {
    ($($name:ident),+ $(,)?) => {
        /// Every statement of the store.
        pub(super) struct Sql { $(pub(super) $name: String),+ }

        impl Sql {
            pub(super) fn new(schema: &str) -> Self {
                Self { $($name: in_schema(include_str!(concat!("sql/", stringify!($name), ".sql")), schema)),+ }
            }

            /// All of them.
            pub(super) fn all(&self) -> Vec<&str> {
                vec![$(&self.$name),+]
            }
        }
    };
}
statements! {
    alive, announce, arrive, attempts, audit_add, audit_entries, audit_newest, backlog, beat, bury, caps, check,
    checkup, claim, copy, count, counts, days, dead_rows, delete, delete_live, depth, deregister, detached, dismiss, drain, draw_seqs,
    drop_holds, end_within, ended, ended_by, ended_since, enter, executors, expired, failed_sums, failures, feed, fill_caps,
    finish, finish_within, fold_freed, forget, forget_all, forget_freed, forget_owed, forget_rate, forget_reports, gate,
    give_back, grab,
    group_limits, group_sums, held, held_groups, held_tasks, hints, hold_strays, holders, hooked, hooked_tasks, insert, insert_plain,
    join_kind, key_add, key_forget, keys, limit_group, limit_task, lines, list, lock, lock_all_caps, lock_caps,
    lock_due, lock_ended, lock_expired, lock_held, lock_hints, lock_id, lock_kinds, lock_rates, log, log_ends, lost_hints,
    make_caps, make_rates, move_rate_key, move_rates, named, new_names, next_due, note, notify, open_accounts, open_copy, open_transaction, orphans, owed, past, peers, prune_accounts,
    prune_arrivals, prune_attempts, prune_audit, prune_idle, prune_logs, prune_names, prune_rate_keys, prune_reports, prune_rows, publish, rate_key, rates, read, read_ended,
    ready_of, register, report, request_cancel,
    reserve, restart, rewrite, rouse, schedule_declared, schedule_delete, schedule_due, schedule_events,
    schedule_forget_events, schedule_forget_runs, schedule_gate, schedule_get, schedule_last_event, schedule_list,
    schedule_live, schedule_lock, schedule_move, schedule_next, schedule_note, schedule_runs, schedule_set,
    schedule_taken, schedule_tell, set_cap, set_global, set_group, set_queue, set_task, set_version, settings, share, sleep,
    standpoint, start, stream_heads, strike, submit_within, sums, sweep_holds, tally, task_limits, tasks, tell, unfinished, unknown_tasks,
    unlock_id, unset_group,
    unset_queue, unset_task, wake,
    watch, withdraw,
}
