//! Who computes signatures and encrypts connections: ring, for JWTs and for requests to others.
//!
//! `jsonwebtoken` would bring aws-lc-rs, with much C code to compile, or code for RSA with a known weakness. It asks
//! for what is here instead. We sign by a shared secret only (tests: also by private keys); everything usual is checked.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result, new_error};
use jsonwebtoken::jwk::EllipticCurve;
use jsonwebtoken::signature::{Error as Invalid, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{self as ring_signature, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// Before the first JWT and the first encrypted request: says who does it. Any number of times.
pub(crate) fn ready() {
    // An error means that it was said before.
    let _ = PROVIDER.install_default();
    let _ = rustls::crypto::ring::default_provider().install_default();
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Signs::new(*algorithm, key)?)),
    verifier_factory: |algorithm, key| {
        if !key.family().algorithms().contains(algorithm) {
            return Err(new_error(ErrorKind::InvalidKeyFormat));
        }
        Ok(Box::new(Checks(*algorithm, key.clone())))
    },
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unknown()),
        rsa_pub_components_from_public_key: |_| Err(unknown()),
        ec_pub_components_from_private_key: |key, algorithm| {
            let pair = ec(algorithm, key)?;
            let (curve, point) = match (algorithm, pair.public_key().as_ref()) {
                (Algorithm::ES256, [4, point @ ..]) => (EllipticCurve::P256, point),
                (_, [4, point @ ..]) => (EllipticCurve::P384, point),
                _ => return Err(new_error(ErrorKind::InvalidEcdsaKey)),
            };
            let (x, y) = point.split_at(point.len() / 2);
            Ok((curve, x.to_vec(), y.to_vec()))
        },
        ed_pub_components_from_private_key: |key, _| Ok(ed(key)?.public_key().as_ref().to_vec()),
        compute_digest: |_, _| Err(unknown()),
    },
};

fn unknown() -> Error {
    new_error(ErrorKind::InvalidAlgorithm)
}

fn hash(algorithm: Algorithm) -> Result<hmac::Algorithm> {
    match algorithm {
        Algorithm::HS256 => Ok(hmac::HMAC_SHA256),
        Algorithm::HS384 => Ok(hmac::HMAC_SHA384),
        Algorithm::HS512 => Ok(hmac::HMAC_SHA512),
        _ => Err(unknown()),
    }
}

fn ec(algorithm: Algorithm, key: &[u8]) -> Result<EcdsaKeyPair> {
    let curve = match algorithm {
        Algorithm::ES256 => &ring_signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        Algorithm::ES384 => &ring_signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => return Err(unknown()),
    };
    EcdsaKeyPair::from_pkcs8(curve, key, &SystemRandom::new()).map_err(|_| new_error(ErrorKind::InvalidEcdsaKey))
}

/// Also from a file that holds the private half only, as OpenSSL writes it.
fn ed(key: &[u8]) -> Result<Ed25519KeyPair> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map_err(|_| new_error(ErrorKind::InvalidEddsaKey))
}

/// A key that signs.
struct Signs(Algorithm, Private);

enum Private {
    Secret(hmac::Key),
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
}

impl Signs {
    fn new(algorithm: Algorithm, key: &EncodingKey) -> Result<Self> {
        if !key.family().algorithms().contains(&algorithm) {
            return Err(new_error(ErrorKind::InvalidKeyFormat));
        }
        let bytes = key.as_bytes();
        let private = match key.family() {
            AlgorithmFamily::Hmac => Private::Secret(hmac::Key::new(hash(algorithm)?, bytes)),
            AlgorithmFamily::Ed => Private::Ed(ed(bytes)?),
            AlgorithmFamily::Ec => Private::Ec(ec(algorithm, bytes)?),
            AlgorithmFamily::Rsa => return Err(unknown()),
        };
        Ok(Self(algorithm, private))
    }
}

impl Signer<Vec<u8>> for Signs {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Invalid> {
        match &self.1 {
            Private::Secret(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Private::Ed(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Private::Ec(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message);
                Ok(signed.map_err(|_| Invalid::new())?.as_ref().to_vec())
            }
        }
    }
}

impl JwtSigner for Signs {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}

/// A key that confirms signatures. It is of the algorithm's family.
struct Checks(Algorithm, DecodingKey);

impl Verifier<Vec<u8>> for Checks {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Invalid> {
        let confirmed = match self.1.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let key = ring_signature::RsaPublicKeyComponents { n, e };
                key.verify(rsa(self.0)?, message, signature)
            }
            DecodingKeyKind::SecretOrDer(key) => match self.0 {
                Algorithm::EdDSA => UnparsedPublicKey::new(&ring_signature::ED25519, key).verify(message, signature),
                Algorithm::ES256 => {
                    UnparsedPublicKey::new(&ring_signature::ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
                }
                Algorithm::ES384 => {
                    UnparsedPublicKey::new(&ring_signature::ECDSA_P384_SHA384_FIXED, key).verify(message, signature)
                }
                Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => {
                    let hash = hash(self.0).map_err(|_| Invalid::new())?;
                    hmac::verify(&hmac::Key::new(hash, key), message, signature)
                }
                _ => UnparsedPublicKey::new(rsa(self.0)?, key).verify(message, signature),
            },
        };
        confirmed.map_err(|_| Invalid::new())
    }
}

impl JwtVerifier for Checks {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}

fn rsa(algorithm: Algorithm) -> std::result::Result<&'static ring_signature::RsaParameters, Invalid> {
    match algorithm {
        Algorithm::RS256 => Ok(&ring_signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Ok(&ring_signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Ok(&ring_signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Ok(&ring_signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Ok(&ring_signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Ok(&ring_signature::RSA_PSS_2048_8192_SHA512),
        _ => Err(Invalid::new()),
    }
}
