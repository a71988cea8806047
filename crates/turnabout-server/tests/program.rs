//! The real program, end to end, on both stores.
//!
//! Nothing here sleeps and hopes: the tests wait for lines that the program prints, or for its end.

#[path = "program/access.rs"]
mod access;
#[path = "program/bad_days.rs"]
mod bad_days;
#[path = "program/cases.rs"]
mod cases;
#[path = "program/codes.rs"]
mod codes;
#[path = "program/commands.rs"]
mod commands;
#[path = "program/crash.rs"]
mod crash;
#[path = "program/database.rs"]
mod database;
#[path = "program/encrypted.rs"]
mod encrypted;
#[path = "program/ending.rs"]
mod ending;
#[path = "program/endpoints.rs"]
mod endpoints;
#[path = "program/events.rs"]
mod events;
#[path = "program/front_end.rs"]
mod front_end;
#[path = "program/http.rs"]
mod http;
#[path = "program/insight.rs"]
mod insight;
#[path = "program/keys.rs"]
mod keys;
#[path = "program/limits.rs"]
mod limits;
#[path = "program/line.rs"]
mod line;
#[path = "program/matrix.rs"]
mod matrix;
#[path = "program/minted.rs"]
mod minted;
#[path = "program/mistakes.rs"]
mod mistakes;
#[path = "program/numbers.rs"]
mod numbers;
#[path = "program/operators.rs"]
mod operators;
#[path = "program/page.rs"]
mod page;
#[path = "program/place.rs"]
mod place;
#[path = "program/roles.rs"]
mod roles;
#[path = "program/schedules.rs"]
mod schedules;
#[path = "program/scopes.rs"]
mod scopes;
#[path = "program/seeds.rs"]
mod seeds;
#[path = "program/settings.rs"]
mod settings;
#[path = "program/silence.rs"]
mod silence;
#[path = "program/tls.rs"]
mod tls;
#[cfg(feature = "otel")]
#[path = "program/tracing.rs"]
mod tracing;
#[cfg(not(feature = "otel"))]
#[path = "program/untraced.rs"]
mod untraced;
#[path = "program/urls.rs"]
mod urls;
#[path = "program/waiting.rs"]
mod waiting;
#[path = "program/webhooks.rs"]
mod webhooks;

use std::io::Read;
use std::net::TcpListener;

use place::{Place, Server};

/// Makes a test of each case, on each store.
macro_rules! on_both_stores {
    ($($(#[$only:meta])* $from:ident::$case:ident),+ $(,)?) => {
        mod on_sqlite {
            $($(#[$only])* #[test] fn $case() { crate::$from::$case(&crate::Place::on_sqlite()); })+
        }
        mod on_postgres {
            $($(#[$only])* #[test] fn $case() { crate::$from::$case(&crate::Place::on_postgres()); })+
        }
    };
}

on_both_stores! {
    cases::a_job_is_submitted_run_shown_and_listed_and_the_server_stops_when_told,
    cases::a_job_that_fails_is_tried_again,
    cases::a_job_submitted_by_another_process_starts_when_it_is_due,
    cases::arguments_that_make_no_sense_fail_for_good_and_say_why,
    cases::a_waiting_job_says_why_it_waits_and_can_be_cancelled,
    cases::a_running_job_is_told_to_stop_when_it_is_cancelled,
    cases::a_shutdown_past_its_deadline_gives_running_jobs_back,
    cases::a_server_that_was_told_to_stop_leaves_nothing_claimed,
    cases::a_second_signal_ends_the_server_at_once,
    seeds::d2_submit_and_cancel_answer_with_the_whole_job,
    seeds::c37_d53_lists_are_brief_unless_more_is_asked_for_and_words_name_states,
    seeds::c66_c21_d37_a_job_is_thrown_away_runs_once_or_expires,
    seeds::c20_items_a_minute_are_told_by_task,
    seeds::c47_failed_jobs_are_counted_for_as_long_as_they_are_kept_and_cancels_are_no_failures,
    seeds::d51_d57_a_program_says_why_it_failed_and_how_far_it_came,
    ending::b30_a_call_to_exit_waits_for_all_running_jobs_and_the_api_answers_until_then,
    ending::b30_a_shorter_deadline_of_a_later_call_counts,
    ending::b30_a_signal_without_a_deadline_waits_for_all_running_jobs,
    ending::b32_an_executor_without_the_api_is_ended_over_http_with_a_token,
    ending::b32_an_executor_is_ended_by_its_name_from_elsewhere,
    commands::a_program_tells_how_far_it_is_and_its_last_line_is_the_result,
    commands::exit_codes_decide_whether_a_program_is_tried_again,
    commands::a_program_that_ignores_the_request_to_end_is_gone_with_its_children_after_a_cancel,
    commands::a_program_whose_time_is_up_is_ended_with_its_children,
    commands::a_shutdown_ends_programs_and_gives_their_jobs_back,
    commands::ten_megabytes_on_one_line_and_bytes_that_are_no_text_do_no_harm,
    commands::output_past_its_limit_is_thrown_away_and_the_result_is_not,
    commands::a_program_that_does_not_exist_is_named_and_tried_again,
    commands::arguments_arrive_as_they_are_whatever_they_contain,
    commands::a_program_is_told_about_its_job_and_not_about_our_secrets,
    commands::arguments_are_no_options_unless_the_task_allows_it,
    commands::programs_end_with_an_executor_that_is_killed,
    urls::an_address_is_sent_the_arguments_and_its_answer_is_the_result,
    urls::an_answer_decides_whether_an_address_is_called_again,
    line::the_same_commands_work_on_a_server_and_on_a_database,
    line::jobs_are_submitted_from_a_file_and_from_standard_input,
    line::the_exit_code_of_a_wait_tells_how_the_job_ended,
    waiting::whoever_waits_is_told_and_does_not_ask,
    waiting::whoever_is_told_nothing_looks_for_themselves,
    settings::tasks_and_groups_change_while_the_server_runs,
    settings::tokens_and_webhooks_change_while_the_server_runs,
    settings::what_holds_for_all_groups_changes_while_the_server_runs,
    settings::nobody_sleeps_where_that_is_not_allowed,
    #[cfg(feature = "otel")]
    tracing::a_run_belongs_to_the_trace_in_which_its_job_was_submitted,
    #[cfg(not(feature = "otel"))]
    untraced::without_opentelemetry_an_endpoint_is_refused_and_a_callers_trace_is_handed_on,
    endpoints::a_job_is_submitted_looked_at_and_changed_over_http,
    endpoints::what_cannot_be_submitted_is_refused_and_said_why,
    endpoints::numbers_keep_their_digits,
    endpoints::jobs_are_listed_counted_and_changed_by_filter,
    endpoints::the_whole_is_seen_at_a_glance,
    keys::jobs_of_one_key_start_only_so_often,
    limits::what_is_set_for_a_group_is_told_and_changed_over_http,
    limits::what_is_set_for_a_task_is_told_and_changed_over_http,
    limits::what_cannot_be_set_is_refused_and_changes_nothing,
    limits::operators_at_once_undo_nothing_of_each_other,
    limits::only_an_administrator_sees_tasks_and_changes_what_is_set,
    operators::a_group_that_is_paused_by_command_waits_says_why_and_goes_on,
    operators::a_task_is_capped_by_command_and_freed_again,
    operators::c33_successes_go_at_once_and_failures_stay_as_the_file_and_the_command_say,
    operators::settings_are_shown_and_changed_on_a_server_and_on_a_database,
    operators::what_an_operator_has_set_outlives_the_server_unless_its_file_says_otherwise,
    silence::whoever_says_nothing_keeps_nobody_out,
    silence::thousands_who_say_nothing_or_read_half_keep_nobody_out,
    silence::connections_that_are_not_used_are_closed,
    silence::pages_of_long_jobs_end_early_and_cost_little,
    silence::an_answer_that_nobody_reads_counts_until_it_is_given_up,
    silence::streams_are_counted_and_end_with_their_token,
    silence::streams_that_nobody_reads_cost_little_and_delay_nobody,
    silence::programs_wait_until_there_are_files_for_them,
    codes::every_code_of_a_problem_is_met,
    codes::arguments_that_a_task_cannot_take_are_refused_where_it_is_known,
    roles::a_group_sees_and_changes_nothing_of_another_and_neither_does_an_owner,
    roles::an_operator_does_all_but_tokens_and_the_end_and_a_viewer_changes_nothing,
    roles::nobody_gets_around_the_guard,
    roles::a_server_that_others_can_reach_needs_tokens,
    scopes::a_token_does_what_its_scopes_say_and_no_more_than_its_role,
    scopes::a_token_submits_only_its_tasks_to_its_queues,
    scopes::a_token_ends_and_is_replaced_without_a_gap,
    matrix::everyone_does_what_the_table_says_and_nothing_else,
    minted::minted_tokens_do_nothing_beyond_their_jobs,
    minted::minted_tokens_end_and_are_revoked_with_their_streams,
    minted::a_submit_returns_a_token_for_its_job,
    minted::d45_d46_a_task_says_what_is_public_and_how_its_errors_are_told,
    front_end::signing_keys_of_the_configuration_are_rotated_and_revoke,
    front_end::five_hundred_jobs_are_asked_for_at_once_and_foreign_ones_are_left_out,
    front_end::a_task_chooses_the_status_of_its_errors_at_a_submit,
    schedules::a_schedule_of_the_file_runs_and_what_an_operator_sets_stays,
    schedules::schedules_are_made_explained_and_run_from_the_command_line,
    schedules::a_group_has_schedules_of_its_own_and_foreign_ones_do_not_exist,
    schedules::what_happens_to_schedules_is_told,
    events::two_hundred_readers_end_with_every_final_state_and_one_never_reads,
    events::readers_go_on_where_they_left_off_after_a_restart,
    events::final_states_are_told_of_jobs_that_are_not_kept,
    events::a_log_is_followed_to_its_jobs_end,
    webhooks::a_webhook_is_told_what_becomes_of_jobs_until_it_has_heard,
    webhooks::a_webhook_is_told_of_an_attempt_that_has_failed,
    insight::shares_tell_who_holds_slots_and_who_waits,
    insight::why_a_job_waits_says_who_has_the_slots_and_when_it_starts,
    insight::failures_are_told_by_kind,
    insight::who_did_what_is_kept_in_the_store,
    insight::a_group_sees_its_share_and_failures_and_nothing_of_others,
    bad_days::the_doctor_names_the_cause_and_what_mends_it,
    bad_days::the_doctor_sees_that_nobody_runs_jobs_and_that_a_receiver_fails,
    bad_days::a_receiver_that_never_answers_takes_nobodys_slots,
    bad_days::a_receiver_that_fails_is_tried_with_one_message_while_the_others_wait,
    bad_days::what_is_too_much_for_one_call_goes_on_in_the_background_and_is_waited_for,
    bad_days::nothing_is_done_to_all_jobs_unless_all_is_said,
    bad_days::a_restart_of_what_fails_again_restarts_each_job_once,
    bad_days::reading_makes_no_tables_and_migrates_nothing,
    bad_days::with_manual_migrations_a_server_makes_no_tables,
    mistakes::what_could_only_be_a_mistake_is_refused_and_said_why,
    mistakes::a_thousand_jobs_are_asked_for_by_their_ids,
    mistakes::waiting_jobs_are_delayed_moved_and_given_other_arguments,
    mistakes::jobs_are_found_by_their_meta_and_by_what_they_are_not,
    mistakes::an_executor_that_shuts_down_is_none_that_takes_jobs,
    mistakes::a_job_that_succeeded_in_the_end_does_not_look_as_if_it_had_failed,
    numbers::what_happens_is_counted_and_every_number_is_described,
}

#[test]
fn servers_and_executors_share_one_database() {
    events::servers_and_executors_share_one_database(&Place::on_postgres());
}

#[test]
fn a_flag_goes_before_the_environment() {
    mistakes::a_flag_goes_before_the_environment(&Place::on_sqlite());
}

#[test]
fn what_a_server_would_refuse_the_command_config_refuses() {
    mistakes::what_a_server_would_refuse_the_command_config_refuses(&Place::on_sqlite());
}

#[test]
fn a_server_whose_address_is_in_use_leaves_nothing_behind() {
    mistakes::a_server_whose_address_is_in_use_leaves_nothing_behind(&Place::on_sqlite());
}

#[test]
fn two_signals_in_the_same_moment_are_one() {
    mistakes::two_signals_in_the_same_moment_are_one(&Place::on_sqlite());
}

#[test]
fn a_signal_ends_a_server_that_cannot_reach_its_database() {
    // It is connected to, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "postgres://nobody@{}/nothing",
        silent.local_addr().expect("its address")
    );
    let server = Server::start(&Place::on_sqlite(), &["--database", &url]);
    let (mut connection, _) = silent.accept().expect("the server connects");
    connection.read_exact(&mut [0]).expect("it says something");
    server.terminate();
    assert_eq!(server.end().code(), Some(130));
}

#[test]
fn mistakes_are_answered_with_what_would_be_right() {
    let place = Place::on_sqlite();
    let complaints: [(&[&str], &str); 8] = [
        (&["list"], "no file turnabout.db"),
        (&["submit", "sleep", "{seconds: 1}"], "are not JSON"),
        (&["submit", "sleep", "--priority", "urgent"], "high, normal, low"),
        (&["submit", "sleep", "--delay", "90"], "with units"),
        (&["submit", ""], "empty"),
        (
            &["submit", "sleep", "--database", "mysql://ada:secret@host/db"],
            "postgres://",
        ),
        (&["serve", "--slots", "0"], "at least one slot"),
        (&["show", "42", "--database", "sqlite://turnabout.db"], "UUID"),
    ];
    for (args, part) in complaints {
        let complaint = place.complaint(args);
        assert!(complaint.contains(part), "{args:?}: {complaint}");
        assert!(!complaint.contains("secret@"), "{complaint}");
    }
    let id = place.ask(&["submit", "sleep"]);
    let unknown = id.replace(&id[..8], "00000000");
    assert!(place.complaint(&["show", &unknown]).contains("there is no job"));
}
