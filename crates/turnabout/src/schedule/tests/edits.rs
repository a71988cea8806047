//! What changes make of a schedule: deployments declare, operators set, and a time that is due is never lost.

use super::*;

fn edit(found: Option<&Schedule>, edit: &Edit, now: Timestamp) -> Result<Edited> {
    edited(&ScheduleKey::new("nightly"), found, edit, now, Uuid::from_u128(7))
}

fn declare(found: Option<&Schedule>, definition: &Definition, now: Timestamp) -> Edited {
    let by = "app".to_owned();
    let definition = definition.clone();
    edit(found, &Edit::Declare { by, definition }, now).expect("declared")
}

fn it(edited: Edited) -> Schedule {
    edited.schedule.expect("it is there")
}

#[test]
fn declaring_the_same_again_changes_nothing() {
    let daily = Definition::new("report", "0 2 * * *");
    let first = it(declare(None, &daily, at(NOON)));
    let again = declare(Some(&first), &daily, after(at(NOON), MINUTE));
    assert!(!again.changed);
    assert_eq!(it(again), first);
}

#[test]
fn what_an_operator_has_set_survives_the_next_deployment_and_is_told_apart() {
    let daily = Definition::new("report", "0 2 * * *");
    let first = it(declare(None, &daily, at(NOON)));
    let change = ScheduleChange {
        expression: Some("0 4 * * *".to_owned()),
        ..ScheduleChange::default()
    };
    let changed = it(edit(Some(&first), &Edit::Change(change), at(NOON)).expect("changed"));
    assert_eq!(changed.standing.next, Some(at("2030-01-02T04:00:00Z")));
    assert_eq!(changed.set_by_operator, BTreeSet::from(["expression".to_owned()]));
    let deployed = Definition {
        subject: Some("the report".to_owned()),
        expression: "0 3 * * *".to_owned(),
        ..daily.clone()
    };
    let after_it = it(declare(Some(&changed), &deployed, at(NOON)));
    assert_eq!(after_it.definition.expression, "0 4 * * *");
    assert_eq!(after_it.definition.subject.as_deref(), Some("the report"));
    assert_eq!(after_it.standing.next, changed.standing.next);
    let reset = it(edit(Some(&after_it), &Edit::Reset, at(NOON)).expect("reset"));
    assert_eq!((reset.definition, reset.set_by_operator), (deployed, BTreeSet::new()));
    assert_eq!(reset.standing.next, Some(at("2030-01-02T03:00:00Z")));
}

#[test]
fn a_paused_schedule_stays_paused_and_goes_on_with_its_next_time() {
    let hourly = Definition::new("report", "0 * * * *");
    let first = it(declare(None, &hourly, at(NOON)));
    let (note, by) = (Some("the disk is full".to_owned()), Some("ada".to_owned()));
    let pause = Edit::Pause { note, by };
    let paused = it(edit(Some(&first), &pause, at(NOON)).expect("paused"));
    assert_eq!((paused.standing.next, paused.standing.due), (None, None));
    let deployed = it(declare(Some(&paused), &hourly, after(at(NOON), MINUTE)));
    assert_eq!(deployed.standing, paused.standing);
    let later = at("2030-01-01T17:30:00Z");
    let resumed = it(edit(Some(&deployed), &Edit::Resume, later).expect("resumed"));
    assert_eq!(resumed.standing.next, Some(at("2030-01-01T18:00:00Z")));
}

#[test]
fn one_that_is_declared_as_disabled_can_be_enabled_by_an_operator() {
    let mut hourly = Definition::new("report", "0 * * * *");
    hourly.enabled = false;
    let first = it(declare(None, &hourly, at(NOON)));
    assert!(!first.is_active());
    let resumed = it(edit(Some(&first), &Edit::Resume, at(NOON)).expect("resumed"));
    assert!(resumed.is_active());
    let deployed = it(declare(Some(&resumed), &hourly, at(NOON)));
    assert!(deployed.is_active(), "the operator's wish stays");
}

#[test]
fn a_time_that_is_due_is_kept_by_a_deployment() {
    let daily = Definition::new("report", "0 2 * * *");
    let first = it(declare(None, &daily, at(NOON)));
    // Nobody was there at two; the program starts at three, with another time.
    let three = at("2030-01-02T03:00:00Z");
    let mut changed = daily.clone();
    changed.expression = "0 5 * * *".to_owned();
    for definition in [&daily, &changed] {
        let mut deployed = it(declare(Some(&first), definition, three));
        assert_eq!(deployed.standing.due, Some(at("2030-01-02T02:00:00Z")));
        assert_eq!(kinds(&fired(&mut deployed, three, &[])), [(RunKind::Fired, 1)]);
    }
}

#[test]
fn only_what_a_deployment_declared_goes_with_it() {
    let daily = Definition::new("report", "0 2 * * *");
    let declared = it(declare(None, &daily, at(NOON)));
    let retire = |by: &str| Edit::Retire { by: by.to_owned() };
    let others = edit(Some(&declared), &retire("another"), at(NOON)).expect("nothing happens");
    assert!(!others.changed && others.schedule.is_some());
    assert_eq!(
        edit(Some(&declared), &retire("app"), at(NOON))
            .expect("it goes")
            .schedule,
        None
    );
    let operators = schedule(daily, at(NOON));
    assert!(
        edit(Some(&operators), &retire("app"), at(NOON))
            .expect("it stays")
            .schedule
            .is_some()
    );
}

#[test]
fn a_subject_that_no_database_could_hold_is_tidied_up_and_is_nobodys_change() {
    let mut daily = Definition::new("report", "0 2 * * *");
    daily.subject = Some(" two\0lines\n".to_owned());
    let declared = it(declare(None, &daily, at(NOON)));
    assert_eq!(declared.definition.subject.as_deref(), Some("two lines"));
    let set = it(edit(Some(&declared), &Edit::Set(daily), at(NOON)).expect("set"));
    assert_eq!(set, declared);
}

#[test]
fn what_does_not_exist_cannot_be_changed() {
    for wanted in [
        Edit::Resume,
        Edit::Delete,
        Edit::Reset,
        Edit::Change(ScheduleChange::default()),
    ] {
        let error = edit(None, &wanted, at(NOON)).expect_err("there is none");
        assert!(matches!(error, Error::NoSchedule(_)), "{error}");
    }
}
