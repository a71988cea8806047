//! TLS for the API: a certificate and its key from files, which may be replaced while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Where certificates and keys are (PEM).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The server's certificate, and those that lead from it to an authority.
    pub(crate) certificate: PathBuf,
    /// Its key.
    pub(crate) key: PathBuf,
    /// Authorities of callers' certificates. Without them, callers need none.
    pub(crate) clients: Option<PathBuf>,
}

impl TlsFiles {
    /// Reads the files. What cannot be used is refused here, before anybody connects.
    pub(crate) fn load(&self) -> anyhow::Result<Arc<ServerConfig>> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .context("no version of TLS can be used")?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file)? {
                    roots.add(certificate).with_context(|| unusable(file))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().with_context(|| unusable(file))?)
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .with_context(|| format!("cannot read a key from {}", self.key.display()))?;
        let mut config = builder
            .with_single_cert(certificates(&self.certificate)?, key)
            .with_context(|| {
                let (certificate, key) = (self.certificate.display(), self.key.display());
                format!("the certificate {certificate} and the key {key} cannot be used together")
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificates(file: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<_> = read.with_context(|| format!("cannot read certificates from {}", file.display()))?;
    ensure!(!read.is_empty(), "there is no certificate in {}", file.display());
    Ok(read)
}

fn unusable(file: &Path) -> String {
    format!("the authorities in {} cannot be used", file.display())
}
