//! Roles: whose jobs a token lets one see, and what it lets one do.

use std::sync::Arc;

use anyhow::bail;

use super::{Grant, Scope};
use crate::api::WEBHOOK_GROUP as GROUP;

/// Whose jobs a caller sees, and what else they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// All of them, and the executors: everything.
    Admin,
    /// All of them; everything but tokens, and ending the server.
    Operator,
    /// All of them, and changes nothing.
    Viewer,
    /// Those of one group.
    Group(String),
    /// Those that one owner has submitted in one group.
    Owner {
        /// The group.
        group: String,
        /// The owner.
        owner: String,
    },
    /// What a minted token allows, and only where such tokens work.
    Browser(Arc<Grant>),
}

impl Role {
    /// Its name.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::Group(_) => "group",
            Self::Owner { .. } => "owner",
            Self::Browser(_) => "browser",
        }
    }

    /// What it lets one do, unless a token says less.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        match self {
            Self::Admin => Scope::ALL.to_vec(),
            Self::Operator => Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect(),
            Self::Viewer => vec![Scope::Read, Scope::Metrics],
            Self::Group(_) | Self::Owner { .. } => vec![Scope::Read, Scope::Submit, Scope::Cancel],
            Self::Browser(grant) if grant.cancel => vec![Scope::Read, Scope::Cancel],
            Self::Browser(_) => vec![Scope::Read],
        }
    }

    /// A role by its name, with what belongs to it and nothing else.
    pub(crate) fn from_parts(role: &str, group: Option<String>, owner: Option<String>) -> anyhow::Result<Self> {
        let strange = |name: &&String| name.contains(char::is_control);
        if let Some(name) = [&group, &owner].into_iter().flatten().find(strange) {
            bail!("the name {name:?} contains a control character");
        }
        match (role, group, owner) {
            ("admin", None, None) => Ok(Self::Admin),
            ("operator", None, None) => Ok(Self::Operator),
            ("viewer", None, None) => Ok(Self::Viewer),
            ("admin" | "operator" | "viewer", ..) => {
                bail!("the role `{role}` is for all groups and owners; leave them out")
            }
            (_, Some(group), _) if is_ours(&group) => {
                bail!(
                    "the group `{GROUP}` is the server's own: what webhooks are told of all groups; choose another name"
                )
            }
            ("group", Some(group), None) => Ok(Self::Group(group)),
            ("group", ..) => bail!("the role `group` needs a group, and no owner"),
            ("owner", Some(group), Some(owner)) => Ok(Self::Owner { group, owner }),
            ("owner", ..) => bail!("the role `owner` needs a group and an owner"),
            (other, ..) => bail!(
                "the role `{}` is none of admin, operator, viewer, group, owner",
                other.escape_debug()
            ),
        }
    }
}

/// Whether a group is the one in which the server itself submits jobs, or lies inside it.
fn is_ours(group: &str) -> bool {
    let rest = group.strip_prefix(GROUP);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_what_belongs_to_it() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(Role::from_parts("admin", None, None).expect("a role"), Role::Admin);
        let group = Role::from_parts("group", some("acme"), None).expect("a role");
        assert_eq!(group, Role::Group("acme".to_owned()));
        Role::from_parts("owner", some("acme"), some("ada")).expect("a role");
        Role::from_parts("group", some("webhooks-of-acme"), None).expect("a name like others");
        for (role, group, owner) in [
            ("admin", some("acme"), None),
            ("operator", some("acme"), None),
            ("viewer", None, some("ada")),
            ("group", None, None),
            ("group", some("acme"), some("ada")),
            ("owner", some("acme"), None),
            ("owner", None, some("ada")),
            ("group", some("webhooks"), None),
            ("owner", some("webhooks/acme"), some("ada")),
            ("group", some("a\0"), None),
            ("owner", some("acme"), some("a\nb")),
            ("root", None, None),
            ("", None, None),
        ] {
            Role::from_parts(role, group, owner).expect_err(role);
        }
    }
}
