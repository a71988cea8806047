//! Groups: their unfinished jobs, and what operators set for them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use turnabout::group::Settings;
use turnabout::jobs::{GroupSum, SetGroup, Whose};
use turnabout::store::audit::Deed;
use utoipa::IntoParams;

use super::audit;
use super::caller::Caller;
use super::extract::{Ask, Body, Name};
use super::state::App;
use super::types::{GroupChange, GroupSet, GroupSummary, Groups, Limit, Problem, RateLimit};

/// Which groups.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupsQuery {
    /// The next page: `next` of the page before.
    after: Option<String>,
    /// How many at the most: from 1 to 1000, 100 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// So many groups are listed unless said otherwise.
pub(super) const PAGE: u32 = 100;

/// List groups
///
/// Those that have unfinished jobs, and those for which something is set.
#[utoipa::path(get, path = "/api/v1/groups", tag = "groups", operation_id = "groups", params(GroupsQuery),
    responses((status = 200, body = Groups, description = "A page of groups, by name")))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Ask(query): Ask<GroupsQuery>,
) -> Result<Json<Groups>, Problem> {
    let (group, owner) = caller.place(None, None)?;
    let limit = query.limit.unwrap_or(PAGE);
    let after = query.after.unwrap_or_default();
    super::extract::no_nul("after", &after)?;
    let whose = Whose { group, owner };
    let (sums, settings) = tokio::try_join!(app.group_sums(&whose, &after, limit), app.jobs.settings())?;
    Ok(Json(page(sums, &settings, whose.group.as_deref(), &after, limit)))
}

/// The groups that have jobs together with those for which something is set, in the order of both: that of the bytes of
/// their names.
fn page(sums: Vec<GroupSum>, settings: &Settings, only: Option<&str>, after: &str, limit: u32) -> Groups {
    let limit = limit as usize;
    // Past the last of a full page there may be more with jobs; whatever lies behind it is cut off below.
    let mut more = sums.len() == limit;
    let set = settings.groups.keys().filter(|name| {
        let name = name.as_str();
        name > after && only.is_none_or(|only| only == name)
    });
    let mut groups: BTreeMap<String, GroupSum> = set.map(|name| (name.clone(), idle(name))).collect();
    groups.extend(sums.into_iter().map(|sum| (sum.group.clone(), sum)));
    more |= groups.len() > limit;
    let view = |(name, sum): (String, GroupSum)| GroupSummary::new(sum, settings.group(&name));
    let groups: Vec<GroupSummary> = groups.into_iter().take(limit).map(view).collect();
    let next = groups.last().filter(|_| more).map(|last| last.group.clone());
    Groups { groups, next }
}

/// A group without jobs.
fn idle(name: &str) -> GroupSum {
    let mut sum = GroupSum::default();
    name.clone_into(&mut sum.group);
    sum
}

/// One group
///
/// Every name is a group's: one that nobody has used yet has no jobs, and nothing is set for it.
#[utoipa::path(get, path = "/api/v1/groups/{group}", tag = "groups", operation_id = "group",
    params(("group" = String, Path, description = "The group; a `/` in its name is written as `%2F`")),
    responses((status = 200, body = GroupSummary, description = "Its unfinished jobs, and what is set for it")))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Name(group): Name<String>,
) -> Result<Json<GroupSummary>, Problem> {
    let (_, owner) = caller.place(Some(group.clone()), None)?;
    let (sum, settings) = tokio::try_join!(app.group_sum(&group, owner), app.jobs.settings())?;
    let mut view = GroupSummary::new(sum, settings.group(&group));
    if settings.groups.contains_key(&group) {
        let set = app.jobs.audit().newest(&[format!("group:{group}")]).await?;
        view.set = set.into_iter().next().map(Into::into);
    }
    Ok(Json(view))
}

/// Change what is set for a group
///
/// All of it at once, and at once for jobs that wait already; what is left out stays as it is, whatever others change at
/// the same time. The answer tells what is set then, and does not count jobs: it comes as soon with a large backlog.
#[utoipa::path(patch, path = "/api/v1/groups/{group}", tag = "groups", operation_id = "setGroup",
    params(("group" = String, Path, description = "The group; a `/` in its name is written as `%2F`")),
    request_body = GroupChange,
    responses((status = 200, body = GroupSet, description = "It is set")))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Name(group): Name<String>,
    Body(change): Body<GroupChange>,
) -> Result<Json<GroupSet>, Problem> {
    let note = audit::checked(change.note.clone())?;
    let before = app.jobs.settings().await?.group(&group);
    let mut set = app.jobs.group(&group);
    if let Some(Limit(weight)) = change.weight {
        set = weigh(set, weight);
    }
    if let Some(Limit(jobs)) = change.max_running {
        set = set.max_running(jobs);
    }
    if let Some(Limit(percent)) = change.max_share {
        set = set.max_share(percent);
    }
    if let Some(Limit(jobs)) = change.max_unfinished {
        set = set.max_unfinished(jobs);
    }
    if let Some(Limit(tasks)) = change.max_unknown_tasks {
        set = set.max_unknown_tasks(tasks);
    }
    if let Some(RateLimit(rate)) = change.rate {
        set = set.rate(rate);
    }
    set = match change.paused {
        Some(true) => set.pause(),
        Some(false) => set.resume(),
        None => set,
    };
    for (state, time) in change.retention.unwrap_or_default().said()? {
        set = set.keep(state, time);
    }
    let settings = set.await?;
    tracing::info!(
        by = caller.name,
        group,
        ?settings,
        "what is set for a group was changed"
    );
    let told = |settings| audit::json(&GroupSet::new(group.clone(), settings));
    let deed = Deed {
        target: Some(format!("group:{group}")),
        group: Some(group.clone()),
        before: told(before),
        after: told(settings),
        note,
        ..caller.deed("set-group")
    };
    app.note(deed).await;
    Ok(Json(GroupSet::new(group, settings)))
}

/// Sets a weight, or (none) that of all groups.
pub(crate) fn weigh(set: SetGroup, weight: Option<u32>) -> SetGroup {
    match weight {
        Some(weight) => set.weight(weight),
        None => set.usual_weight(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnabout::group::GroupSettings;

    fn names(groups: &Groups) -> Vec<&str> {
        groups.groups.iter().map(|group| group.group.as_str()).collect()
    }

    /// All pages, as someone sees them who asks for one after the other.
    fn pages(busy: &[&str], settings: &Settings, only: Option<&str>, limit: u32) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut after = String::new();
        loop {
            let sums = busy.iter().filter(|name| **name > after.as_str());
            let sums = sums.take(limit as usize).map(|name| {
                let mut sum = idle(name);
                sum.ready = 1;
                sum
            });
            let page = page(sums.collect(), settings, only, &after, limit);
            pages.push(names(&page).into_iter().map(ToOwned::to_owned).collect());
            assert!(pages.len() < 20, "{pages:?}");
            match page.next {
                Some(next) => after = next,
                None => return pages,
            }
        }
    }

    fn settings(names: &[&str]) -> Settings {
        let mut paused = GroupSettings::default();
        paused.paused = true;
        let mut settings = Settings::default();
        settings.groups = names.iter().map(|name| ((*name).to_owned(), paused)).collect();
        settings
    }

    #[test]
    fn every_group_is_on_one_page_whether_it_has_jobs_or_settings_or_both() {
        let busy = ["a", "b", "d", "f/x", "\u{e9}"];
        let settings = settings(&["0", "b", "c", "f", "f/y", "g", "z", "\u{ff}"]);
        let all = ["0", "a", "b", "c", "d", "f", "f/x", "f/y", "g", "z", "\u{e9}", "\u{ff}"];
        for limit in 1..=14 {
            let pages = pages(&busy, &settings, None, limit);
            assert_eq!(pages.concat(), all, "limit {limit}");
            let full = pages.iter().rev().skip(1).all(|page| page.len() == limit as usize);
            assert!(full, "limit {limit}: {pages:?}");
        }
    }

    #[test]
    fn a_group_tells_its_jobs_and_its_settings() {
        let mut sum = idle("b");
        sum.held = 4;
        let page = page(vec![sum], &settings(&["b", "c"]), None, "", 10);
        assert_eq!(names(&page), ["b", "c"]);
        assert_eq!((page.groups[0].held, page.groups[1].held), (4, 0));
        assert!(page.groups.iter().all(|group| group.paused));
    }

    #[test]
    fn whoever_sees_one_group_sees_no_settings_of_others() {
        let settings = settings(&["a", "b", "c"]);
        assert_eq!(pages(&[], &settings, Some("b"), 10).concat(), ["b"]);
        assert_eq!(pages(&["b"], &settings, Some("b"), 1).concat(), ["b"]);
        assert_eq!(pages(&[], &settings, Some("d"), 10).concat(), [""; 0]);
    }
}
