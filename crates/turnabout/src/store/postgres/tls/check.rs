//! What a server has to show before anything is sent to it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{Check, Roots};

/// What connections are made with, or why they cannot be.
pub(super) fn config(check: &Check) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let checker = Checker {
        trust: match check {
            Check::Nothing => None,
            Check::Signed(roots) | Check::Named(roots) => Some(Trust::new(roots)?),
        },
        names: matches!(check, Check::Named(_)),
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        // Dangerous is what it may do; what it does is below.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(checker))
        .with_no_client_auth();
    // Servers from version 17 on ask for it where encryption begins without a question (sslnegotiation=direct).
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

/// Who is believed.
#[derive(Debug)]
struct Trust {
    roots: RootCertStore,
    /// Certificates that are believed as they stand: one that a server has signed itself is no authority, and still what
    /// its owner has put into the file.
    known: Vec<CertificateDer<'static>>,
}

impl Trust {
    fn new(roots: &Roots) -> Result<Self, String> {
        let (certificates, place) = match roots {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                (found.certs, "this machine's store".to_owned())
            }
            Roots::File(file) => {
                let place = file.display().to_string();
                let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
                let read: Vec<_> = read.map_err(|error| format!("cannot read sslrootcert={place}: {error}"))?;
                (read, place)
            }
        };
        let mut store = RootCertStore::empty();
        let (added, _) = store.add_parsable_certificates(certificates.iter().cloned());
        if added == 0 {
            return Err(format!("there is no certificate in {place} (sslrootcert)"));
        }
        Ok(Self {
            roots: store,
            known: match roots {
                Roots::System => Vec::new(),
                Roots::File(_) => certificates,
            },
        })
    }
}

#[derive(Debug)]
struct Checker {
    /// None: whoever answers.
    trust: Option<Trust>,
    names: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Checker {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trust) = &self.trust {
            let parsed = ParsedCertificate::try_from(certificate)?;
            if !trust.known.contains(certificate) {
                let all = self.algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&parsed, &trust.roots, between, now, all)?;
            }
            if self.names {
                verify_server_name(&parsed, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
