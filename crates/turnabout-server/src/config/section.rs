//! What a table of settings is. Everything that is said about a setting is said once, in `table.rs`: its name, type,
//! default, flag and description. Reading, the environment, flags, the reference file and `turnabout config` all come
//! from there.

use super::value::Given;

/// What there is to know about one setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The name of its field; its key has dashes instead of underlines.
    pub(crate) field: &'static str,
    /// What it does, in lines.
    pub(crate) about: &'static [&'static str],
    /// A flag that gives it, where there is one.
    pub(crate) flag: Option<&'static str>,
    /// What it may look like, where it has no default.
    pub(crate) sample: Option<&'static str>,
    /// Whether a change takes effect while the program runs.
    pub(crate) live: bool,
}

impl Setting {
    pub(crate) fn key(&self) -> String {
        self.field.replace('_', "-")
    }

    /// Its description in one piece, for the help of its flag.
    pub(crate) fn help(&self) -> String {
        let text: Vec<&str> = self.about.iter().map(|line| line.trim()).collect();
        text.join(" ").trim_end_matches('.').to_owned()
    }
}

/// A part of the configuration: a table of the file.
pub(crate) trait Section {
    /// Its settings.
    fn table(&self) -> &'static [Setting];
    /// What it is for, in lines.
    fn about(&self) -> &'static [&'static str];
    /// Gives one of its settings a value. None: it has no such setting.
    fn set(&mut self, field: &str, given: Given<'_>) -> Option<Result<(), String>>;
    /// The value of a setting, as it is written in the file. None: it has none.
    fn get(&self, field: &str) -> Option<String>;
}

/// Makes a struct and its table of settings.
///
/// `/// description`, then `name: Type = default;`, and between those: `like "sample"`, `flag "name"`, `live true`.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        $Name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $Type:ty = $default:expr
                    $(, like $sample:literal)? $(, flag $flag:literal)? $(, live $live:literal)? ;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $Name {
            $($(#[doc = $doc])* pub(crate) $field: $Type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::config::section::Section for $Name {
            fn table(&self) -> &'static [$crate::config::section::Setting] {
                const TABLE: &[$crate::config::section::Setting] = &[$(
                    $crate::config::section::Setting {
                        field: stringify!($field),
                        about: &[$($doc),*],
                        flag: $crate::config::section::section!(@optional $($flag)?),
                        sample: $crate::config::section::section!(@optional $($sample)?),
                        live: $crate::config::section::section!(@live $($live)?),
                    },
                )*];
                TABLE
            }

            fn about(&self) -> &'static [&'static str] {
                &[$($about),*]
            }

            fn set(
                &mut self,
                field: &str,
                given: $crate::config::value::Given<'_>,
            ) -> Option<Result<(), String>> {
                match field {
                    $(stringify!($field) => Some(given.read().map(|value| self.$field = value)),)*
                    _ => None,
                }
            }

            fn get(&self, field: &str) -> Option<String> {
                match field {
                    $(stringify!($field) => $crate::config::value::Written::to_toml(&self.$field),)*
                    _ => None,
                }
            }
        }
    };
    (@optional) => { None };
    (@optional $value:literal) => { Some($value) };
    (@live) => { false };
    (@live $live:literal) => { $live };
}

pub(crate) use section;
