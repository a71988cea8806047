//! Scopes: what a token lets one do, as far as its role allows it; and which tasks and queues it may submit to.
//!
//! Which scope a request needs is in `api/needs.rs`.

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Role;

/// What a token lets one do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Look: at jobs, their logs and results, at events, and at what else the role shows.
    Read,
    /// Submit jobs, restart and change them, and change schedules.
    Submit,
    /// Cancel jobs, and delete them.
    Cancel,
    /// Change what is set for groups, tasks, queues and executors.
    Operate,
    /// Read the numbers for Prometheus.
    Metrics,
    /// Revoke minted tokens, and end the server.
    Admin,
}

impl Scope {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Read,
        Self::Submit,
        Self::Cancel,
        Self::Operate,
        Self::Metrics,
        Self::Admin,
    ];

    /// Its name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Cancel => "cancel",
            Self::Operate => "operate",
            Self::Metrics => "metrics",
            Self::Admin => "admin",
        }
    }

    fn named(name: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == name);
        found.with_context(|| format!("`{}` is none of the scopes {}", name.escape_debug(), words(&Self::ALL)))
    }
}

/// Scopes for people.
fn words(scopes: &[Scope]) -> String {
    let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    words.join(", ")
}

/// What a token allows of what its role does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rights {
    /// What one may do.
    pub(crate) scopes: Vec<Scope>,
    /// The only tasks whose jobs may be submitted: names, or beginnings of names with a `*`. None: all.
    pub(crate) tasks: Option<Vec<String>>,
    /// The only queues that they may be submitted to. None: all.
    pub(crate) queues: Option<Vec<String>>,
}

impl Rights {
    /// Everything that a role allows.
    pub(crate) fn of(role: &Role) -> Self {
        Self {
            scopes: role.scopes(),
            tasks: None,
            queues: None,
        }
    }

    /// What is left of a role. A scope that the role does not have is left out: a token gives no more than its role.
    pub(crate) fn narrowed(
        role: &Role,
        scopes: Option<&[Scope]>,
        tasks: Option<Vec<String>>,
        queues: Option<Vec<String>>,
    ) -> Self {
        let mut own = role.scopes();
        own.retain(|scope| scopes.is_none_or(|scopes| scopes.contains(scope)));
        Self {
            scopes: own,
            tasks,
            queues,
        }
    }

    /// The same, as the configuration says it. There, what cannot be is a mistake.
    pub(crate) fn configured(
        role: &Role,
        scopes: Option<&[String]>,
        tasks: Option<&Vec<String>>,
        queues: Option<&Vec<String>>,
    ) -> anyhow::Result<Self> {
        let scopes = scopes.map(|names| names.iter().map(|name| Scope::named(name)));
        let scopes = scopes
            .map(Iterator::collect::<anyhow::Result<Vec<Scope>>>)
            .transpose()?;
        let own = role.scopes();
        for scope in scopes.iter().flatten() {
            ensure!(
                own.contains(scope),
                "the role `{}` has no scope `{}`; it has {}",
                role.word(),
                scope.as_str(),
                words(&own)
            );
        }
        let empty = |list: Option<usize>| list == Some(0);
        ensure!(
            !empty(scopes.as_ref().map(Vec::len)) && !empty(tasks.map(Vec::len)) && !empty(queues.map(Vec::len)),
            "an empty list of scopes, tasks or queues allows nothing; name some, or leave it out"
        );
        for name in tasks.into_iter().flatten() {
            let inside = name.strip_suffix('*').unwrap_or(name).contains('*');
            ensure!(
                !inside,
                "`{name}`: a `*` stands for the end of a task's name, and nowhere else"
            );
        }
        let rights = Self::narrowed(role, scopes.as_deref(), tasks.cloned(), queues.cloned());
        ensure!(
            !rights.is_limited() || rights.has(Scope::Submit),
            "`tasks` and `queues` say what may be submitted, and the token has no scope `submit`"
        );
        Ok(rights)
    }

    /// Whether one may do this.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether some tasks or queues are out of reach.
    pub(crate) fn is_limited(&self) -> bool {
        self.tasks.is_some() || self.queues.is_some()
    }

    /// Whether jobs of this task may be submitted.
    pub(crate) fn takes(&self, task: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => task.starts_with(beginning),
            None => task == pattern,
        };
        self.tasks.as_ref().is_none_or(|tasks| tasks.iter().any(fits))
    }

    /// The scopes, for people.
    pub(crate) fn words(&self) -> String {
        if self.scopes.is_empty() {
            return "none".to_owned();
        }
        words(&self.scopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Role {
        Role::Group("acme".to_owned())
    }

    #[test]
    fn a_token_gives_no_more_than_its_role() {
        for role in [Role::Admin, Role::Operator, Role::Viewer, group()] {
            let all = Rights::narrowed(&role, Some(&Scope::ALL), None, None);
            assert_eq!(all, Rights::of(&role));
            assert_eq!(Rights::narrowed(&role, Some(&[]), None, None).scopes, []);
        }
        let few = Rights::narrowed(&group(), Some(&[Scope::Admin, Scope::Read]), None, None);
        assert_eq!(few.scopes, [Scope::Read]);
    }

    #[test]
    fn tasks_are_named_or_begin_so() {
        let tasks = Some(vec!["mail".to_owned(), "report:*".to_owned()]);
        let rights = Rights::narrowed(&group(), None, tasks, None);
        for (task, takes) in [
            ("mail", true),
            ("mails", false),
            ("report:", true),
            ("report:daily", true),
            ("report", false),
            ("", false),
        ] {
            assert_eq!(rights.takes(task), takes, "{task}");
        }
        assert!(Rights::of(&group()).takes("anything"));
        assert!(!Rights::narrowed(&group(), None, Some(Vec::new()), None).takes("anything"));
    }

    #[test]
    fn what_a_configuration_cannot_mean_is_a_mistake() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
        for (scopes, tasks, complaint) in [
            (Some(list(&["look"])), None, "read, submit, cancel"),
            (
                Some(list(&["operate"])),
                None,
                "the role `group` has no scope `operate`",
            ),
            (Some(list(&[])), None, "allows nothing"),
            (None, Some(list(&[])), "allows nothing"),
            (None, Some(list(&["a*b"])), "nowhere else"),
            (Some(list(&["read"])), Some(list(&["mail"])), "no scope `submit`"),
        ] {
            let error = Rights::configured(&group(), scopes.as_deref(), tasks.as_ref(), None).expect_err(complaint);
            assert!(error.to_string().contains(complaint), "{error}");
        }
        let scopes = list(&["submit", "read"]);
        let rights = Rights::configured(&group(), Some(&scopes), Some(&list(&["mail"])), None).expect("it makes sense");
        assert_eq!(rights.words(), "read, submit");
    }
}
