//! From the settings to what the API is told.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use super::kinds::JwtSigned;
use super::{Api, Config, Token};
use crate::api::types::Links;
use crate::api::{ApiSettings, On, TlsFiles, Webhook};
use crate::auth::{
    Holder, JwtAlgorithm, JwtKeys, JwtSettings, Limit, MIN_KEY, Rights, Role, SigningSettings, StaticToken,
};
use crate::tasks::{Checks, Shown};

impl Config {
    /// How the API is served, to whom, and within which limits. What is known about tasks is not said here.
    pub(crate) fn api_settings(&self) -> anyhow::Result<ApiSettings> {
        let api = &self.api;
        let tokens = self.tokens.iter().map(|(name, token)| static_tokens(name, token));
        let tokens = tokens.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(ApiSettings {
            address: api.address,
            tokens: tokens.concat(),
            jwt: jwt(api)?,
            signing: signing(api)?,
            tls: tls(api)?,
            rate: Limit {
                per_second: api.rate.into(),
                burst: api.rate_burst.into(),
            },
            hosts: api.hosts.clone(),
            cors: api.cors_origins.clone(),
            open_metrics: api.open_metrics,
            group_metrics: api.group_metrics,
            webhooks: self
                .webhooks
                .iter()
                .map(|(name, hook)| webhook(name, hook))
                .collect::<anyhow::Result<_>>()?,
            checks: Checks::default(),
            shown: Shown::new(self),
            max_body: usize::try_from(api.max_body.0).unwrap_or(usize::MAX),
            max_head: usize::try_from(api.max_head.0).unwrap_or(usize::MAX),
            timeout: api.timeout,
            connections: api.connections as usize,
            per_address: api.connections_per_address as usize,
            requests: api.requests as usize,
            requests_each: api.requests_per_token as usize,
            streams: api.streams as usize,
            streams_each: api.streams_per_token as usize,
            heartbeat: api.heartbeat,
            shutdown: api.shutdown,
            dashboard: api.dashboard,
            prefix: prefix(api.prefix.as_deref().unwrap_or_default())?,
            links: links(&self.links)?,
            nobody: ApiSettings::default().nobody,
            status_only: false,
            mounted: false,
        })
    }
}

impl Api {
    /// The files that connections are encrypted with, as far as they are given.
    pub(crate) fn tls_files(&self) -> [Option<&Path>; 3] {
        [
            &self.tls_certificate_file,
            &self.tls_key_file,
            &self.tls_client_authorities_file,
        ]
        .map(|file| file.as_deref().map(Path::new))
    }
}

/// Whether connections are encrypted, and with what.
pub(super) fn tls(api: &Api) -> anyhow::Result<Option<TlsFiles>> {
    let [certificate, key, clients] = api.tls_files().map(|file| file.map(Path::to_path_buf));
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
            certificate,
            key,
            clients,
        })),
        (None, None) if clients.is_none() => Ok(None),
        _ => anyhow::bail!("`tls-certificate-file` and `tls-key-file` are both needed to encrypt connections"),
    }
}

/// What a proxy leaves before all paths: as it is put before one.
pub(crate) fn prefix(text: &str) -> anyhow::Result<String> {
    let prefix = text.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~');
    anyhow::ensure!(
        prefix.is_empty() || (prefix.starts_with('/') && !prefix.contains("//") && prefix.chars().all(plain)),
        "a prefix begins with `/` and has letters, digits, `-`, `_`, `.` and `~`, such as \"/turnabout\""
    );
    Ok(prefix.to_owned())
}

/// The keys of tokens for browsers, if they are not to be those of the store.
pub(crate) fn signing(api: &Api) -> anyhow::Result<Option<SigningSettings>> {
    let listed: Vec<String> = api.signing_keys.0.iter().map(|key| key.0.clone()).collect();
    match &api.signing_keys_file {
        Some(_) if !listed.is_empty() => {
            anyhow::bail!("there is a `signing-keys-file` as well; one of them is enough")
        }
        Some(file) => Ok(Some(SigningSettings::File(PathBuf::from(file)))),
        None if listed.is_empty() => Ok(None),
        None => {
            anyhow::ensure!(
                listed.iter().all(|key| key.len() >= MIN_KEY),
                "each key has at least {MIN_KEY} characters; `openssl rand -hex 32` makes a good one"
            );
            Ok(Some(SigningSettings::Listed(listed)))
        }
    }
}

/// Addresses for the page. Browsers would run others as programs (`javascript:`).
pub(super) fn links(links: &super::Links) -> anyhow::Result<Links> {
    for (name, link) in [
        ("job", &links.job),
        ("task", &links.task),
        ("group", &links.group),
        ("executor", &links.executor),
        ("trace", &links.trace),
    ] {
        let fine = |link: &String| link.starts_with("http://") || link.starts_with("https://");
        anyhow::ensure!(
            link.as_ref().is_none_or(fine),
            "`{name}` has to begin with http:// or https://"
        );
    }
    Ok(Links {
        job: links.job.clone(),
        task: links.task.clone(),
        group: links.group.clone(),
        executor: links.executor.clone(),
        trace: links.trace.clone(),
    })
}

/// Whom a webhook tells what.
pub(super) fn webhook(name: &str, hook: &super::Webhook) -> anyhow::Result<Webhook> {
    anyhow::ensure!(
        hook.url.starts_with("http://") || hook.url.starts_with("https://"),
        "`url` is the address that is told, such as \"https://app.example.org/turnabout\""
    );
    let on = hook.on.iter().map(|word| {
        let known = On::ALL.into_iter().find(|on| on.as_str() == word);
        known.with_context(|| format!("`on`: `{}` is none of submitted, stuck, final", word.escape_debug()))
    });
    Ok(Webhook {
        name: name.to_owned(),
        group: hook.group.clone(),
        on: on.collect::<anyhow::Result<_>>()?,
        salt: salt(hook),
    })
}

/// What makes the ids of a webhook's messages unpredictable, and the same on all servers.
fn salt(hook: &super::Webhook) -> [u8; 32] {
    // A file that cannot be read is complained of where it is used.
    let file = hook.secret_file.as_ref().and_then(|file| std::fs::read(file).ok());
    let secret = hook
        .secret
        .as_ref()
        .map(|secret| secret.0.clone().into_bytes())
        .or(file);
    secret.map_or([0; 32], |secret| {
        Sha256::digest([b"ids of messages".as_slice(), &secret].concat()).into()
    })
}

/// One for each hash, all of one name.
fn static_tokens(name: &str, token: &Token) -> anyhow::Result<Vec<StaticToken>> {
    let (role, rights) = allowed(token).with_context(|| format!("the token `{name}`"))?;
    let mut holder = Holder::new("token", name, role);
    holder.rights = rights.into();
    holder.until = token.expires;
    let hashes = token.hash.0.iter();
    Ok(hashes.map(|hash| StaticToken::new(holder.clone(), hash)).collect())
}

/// What a token allows.
pub(super) fn allowed(token: &Token) -> anyhow::Result<(Role, Rights)> {
    let role = Role::from_parts(&token.role, token.group.clone(), token.owner.clone())?;
    let rights = Rights::configured(
        &role,
        token.scopes.as_deref(),
        token.tasks.as_ref(),
        token.queues.as_ref(),
    )?;
    Ok((role, rights))
}

/// Which JWTs are accepted, if any.
pub(super) fn jwt(api: &Api) -> anyhow::Result<Option<JwtSettings>> {
    let keys = match (&api.jwt_key_file, &api.jwt_keys_file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => anyhow::bail!("there is a `jwt-key-file` as well; one of them is enough"),
        (None, Some(file)) => JwtKeys::Set(PathBuf::from(file)),
        (Some(file), None) => JwtKeys::One(
            PathBuf::from(file),
            match api.jwt_algorithm {
                JwtSigned::Hs256 => JwtAlgorithm::Hs256,
                JwtSigned::EdDsa => JwtAlgorithm::EdDsa,
            },
        ),
    };
    Ok(Some(JwtSettings {
        keys,
        issuer: api.jwt_issuer.clone(),
        audience: api.jwt_audience.clone(),
    }))
}
