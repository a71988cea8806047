//! Keys of JWTs from a JWKS document, each with the one algorithm that it is for: what a token says of its algorithm is not
//! believed.

use anyhow::{anyhow, bail, ensure};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::MIN_SECRET;

/// A document holds no more keys.
const MAX_KEYS: usize = 100;

/// A key that confirms signatures.
pub(super) struct Key {
    /// By which tokens name it. None: they need not.
    pub(super) id: Option<String>,
    pub(super) decoding: DecodingKey,
    pub(super) algorithm: Algorithm,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// The keys of a document. Those that cannot be used are left out, as long as there are others. Complaints show no key.
pub(super) fn read(text: &[u8]) -> anyhow::Result<Vec<Key>> {
    let set = serde_json::from_slice::<Set>(text);
    let Set { keys } = set.map_err(|_| anyhow!("it is no JWKS document: a JSON object with a list `keys`"))?;
    ensure!(
        keys.len() <= MAX_KEYS,
        "it has {} keys, more than {MAX_KEYS}",
        keys.len()
    );
    let mut usable = Vec::new();
    let mut refused = None;
    for (at, jwk) in keys.into_iter().enumerate() {
        match key(jwk) {
            Ok(key) => usable.push(key),
            Err(why) => {
                tracing::warn!(number = at + 1, %why, "a key for JWTs is left out");
                refused = Some(why);
            }
        }
    }
    match refused {
        Some(why) if usable.is_empty() => bail!("none of its keys can be used; the last one: {why}"),
        _ => ensure!(!usable.is_empty(), "there is no key in it"),
    }
    Ok(usable)
}

fn key(jwk: Value) -> anyhow::Result<Key> {
    let jwk = serde_json::from_value::<Jwk>(jwk).map_err(|_| anyhow!("it is no JWK"))?;
    if jwk.common.public_key_use == Some(PublicKeyUse::Encryption) {
        bail!("it is for encryption");
    }
    let key = DecodingKey::from_jwk(&jwk).map_err(|error| anyhow!("its kind is not known here: {error}"))?;
    let algorithm = match jwk.common.key_algorithm {
        Some(named) => Algorithm::try_from(named).map_err(|_| anyhow!("its `alg` is not known here"))?,
        None => usual(&jwk.algorithm)?,
    };
    ensure!(
        key.family().algorithms().contains(&algorithm),
        "its `alg` is not for keys of its `kty`"
    );
    if key.family() == AlgorithmFamily::Hmac {
        let bytes = key.try_get_as_bytes().map_or(0, <[u8]>::len);
        ensure!(
            bytes >= MIN_SECRET,
            "it has {bytes} bytes; at least {MIN_SECRET} are needed"
        );
    }
    Ok(Key {
        id: jwk.common.key_id,
        decoding: key,
        algorithm,
    })
}

/// The algorithm of a key that names none.
fn usual(parameters: &AlgorithmParameters) -> anyhow::Result<Algorithm> {
    Ok(match parameters {
        AlgorithmParameters::OctetKey(_) => Algorithm::HS256,
        AlgorithmParameters::OctetKeyPair(_) => Algorithm::EdDSA,
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P384 => Algorithm::ES384,
        _ => bail!("its `crv` is not known here"),
    })
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    use super::*;
    use crate::auth::{Jwt, JwtKeys, JwtSettings, crypto, pem};

    const SECRET: &str = "a secret that is long enough for us";
    const ED: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIIHqhrcWQZTC8bTNDMTkFdFSdayXWFTrfEq/iCJQfJAV\n-----END PRIVATE KEY-----\n";
    const EC: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBVPBzx0MRgOVZ5cR\nRw+OWcroKqxF5ZVwoazfnEWGDa+hRANCAATu6dc9LhiR9LwNqsO7FVWm3Lhd4FOT\n82l9o2XmS0F9At3bSutIuCf7mBF+pwqGZjwKES3RqMaYH1gQHko7jaTf\n-----END PRIVATE KEY-----\n";

    fn private(algorithm: Algorithm) -> EncodingKey {
        crypto::ready();
        let der = |text: &str| pem::find(text.as_bytes(), "PRIVATE KEY").expect("a key");
        match algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_der(&der(ED)),
            Algorithm::ES256 => EncodingKey::from_ec_der(&der(EC)),
            _ => EncodingKey::from_secret(SECRET.as_bytes()),
        }
    }

    /// The half that others may know, with this name and without a word about its algorithm.
    fn public(algorithm: Algorithm, id: Option<&str>) -> Value {
        let mut jwk = Jwk::from_encoding_key(&private(algorithm), algorithm).expect("a key");
        jwk.common.key_algorithm = None;
        jwk.common.key_id = id.map(ToOwned::to_owned);
        serde_json::to_value(jwk).expect("JSON")
    }

    /// An RSA key, and what it has signed, both by OpenSSL: `{"role":"admin","exp":4102444800}`.
    const RSA: &str = "wSyXY__BPy8BhLdTAKWDWeuZHCP1bkFIRjv7oKE9_v1LEE8yp-Ed67cIsyeBmL6tkl8fR96Otq3rQDY0RAGKNEzERAO3hc7OlM-wiizVo-dH2MCgVoiaoC706fKlwJeyE744FCNlzdWLf1pUBnzWkQQdb8uFnn24_veQtYxOeo4DshPrLma7grX26Yv__010h3Kjdw_te33-13OdMuJGju7F1dGUY168nBHbI_Ob9KvT-uoEp0KDfidyLC4aF0z09LqqLR3EZ6M3OcxOK8lTQB3Z-dTpJZq_IegAKeqirMGDr5F53xmt_kBv3PZFZvtIvuDg_1ruSpojNMfPQNb_aw";
    const RS256: &str = "eyJhbGciOiJSUzI1NiJ9.eyJyb2xlIjoiYWRtaW4iLCJleHAiOjQxMDI0NDQ4MDB9.negGtlCWW-9yQTyu1Asp2MMvfyTpDWwqHMIg0PvVHnIPTJJeTdBs2UrITxqVEGqq8dPjzOFTIEmZCUyf3_a0gXaINj3fFDHxYsiqZLFZG5499RKAGzxu0luoVD0NZUCSDpz7srgt5h2936Pwe8PyTW8VmeBpPoN65jIqB_b0E8WLQx_N6RZACTbQDI9uxHtaiYC15673l0eT81VHZ77HWP0SGLfU2IN3d75tSIONR4aWT5c3TWv2tw8v4P7j2wCd0V1i0LhBVFSGgyN6z97GO2sjHoLM6HSOlbKB9qy1_ryN5p-SNQUraM4-Lk_bmE6IfbCvpBvFpOCIONbBWvHoqg";
    const PS256: &str = "eyJhbGciOiJQUzI1NiJ9.eyJyb2xlIjoiYWRtaW4iLCJleHAiOjQxMDI0NDQ4MDB9.c3OYTtV8izShCxkkhr69iwJHiRCnRaUxL_DRilxiPgSKGDXA9npvRpTdEUpC0fsJdBLhpxkEbjPydwWMN-0b0OBVQ2xz-KJ1nEyQLciXAhFo3sI3omLcACfo933lh35y4cRPS1VG8Wt45BysUyMznTjy6bLQszts17vXbXSXzE6DzaY8ZosjDFPxO6H0EQ8-_-7z_XdKrfQfwAzgEIY0qJumT6PwF8pxvTm6zcBfpATaLMUPYGUSOXgZQZ89DSEt0l9vkKzkwH7AEbVaH_NFPwq0ksH7TfYe02yfj8EN6Y-jUrrRzWozb4NHZw1nqIUw1RkQj2iqfBRHGfoZFDRYXw";

    #[test]
    fn rsa_keys_confirm_their_signatures_and_no_others() {
        for (algorithm, token, other) in [("RS256", RS256, PS256), ("PS256", PS256, RS256)] {
            let jwk = json!({ "kty": "RSA", "alg": algorithm, "n": RSA, "e": "AQAB" });
            let jwt = accept(&[jwk]).expect("a key");
            assert!(jwt.holder(token).is_some(), "{algorithm}");
            assert!(jwt.holder(other).is_none(), "{algorithm}");
            let (signed, signature) = token.rsplit_once('.').expect("three parts");
            let (_, others) = other.rsplit_once('.').expect("three parts");
            assert!(jwt.holder(&format!("{signed}.{others}")).is_none(), "{algorithm}");
            let altered = signed.replace('e', "f");
            assert!(jwt.holder(&format!("{altered}.{signature}")).is_none(), "{algorithm}");
        }
    }

    fn accept(keys: &[Value]) -> anyhow::Result<Jwt> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), json!({ "keys": keys }).to_string()).expect("it is written");
        Jwt::load(&JwtSettings {
            keys: JwtKeys::Set(file.path().to_owned()),
            issuer: None,
            audience: None,
        })
    }

    fn sign(algorithm: Algorithm, key: &EncodingKey, id: Option<&str>) -> String {
        let header = Header {
            kid: id.map(ToOwned::to_owned),
            ..Header::new(algorithm)
        };
        let claims = json!({ "role": "admin", "exp": jiff::Timestamp::now().as_second() + 600 });
        encode(&header, &claims, key).expect("a token")
    }

    #[test]
    fn a_token_is_accepted_by_the_key_that_it_names_with_the_algorithm_of_that_key() {
        let all = [Algorithm::HS256, Algorithm::EdDSA, Algorithm::ES256];
        let names = ["secret", "edwards", "curve"];
        let keys: Vec<Value> = all
            .iter()
            .zip(names)
            .map(|(each, name)| public(*each, Some(name)))
            .collect();
        let jwt = accept(&keys).expect("three keys");
        for (algorithm, name) in all.into_iter().zip(names) {
            let token = |id| sign(algorithm, &private(algorithm), id);
            assert!(jwt.holder(&token(Some(name))).is_some(), "{name}");
            assert!(jwt.holder(&token(None)).is_some(), "it need not be named");
            for other in names.iter().filter(|other| **other != name).chain(&["gone"]) {
                assert!(jwt.holder(&token(Some(other))).is_none(), "{name} is not {other}");
            }
        }
        assert!(
            jwt.holder(&sign(Algorithm::HS384, &private(Algorithm::HS256), Some("secret")))
                .is_none()
        );
        // What is public is no secret.
        let known = keys[1]["x"].as_str().expect("the public half");
        let forged = sign(
            Algorithm::HS256,
            &EncodingKey::from_secret(known.as_bytes()),
            Some("edwards"),
        );
        assert!(jwt.holder(&forged).is_none());
        // Without the old key, what it has signed is nobody's.
        let rotated = accept(&keys[1..]).expect("two keys");
        assert!(
            rotated
                .holder(&sign(all[0], &private(all[0]), Some("secret")))
                .is_none()
        );
        assert!(
            rotated
                .holder(&sign(all[1], &private(all[1]), Some("edwards")))
                .is_some()
        );
    }

    #[test]
    fn keys_that_cannot_be_used_are_left_out_and_documents_without_others_refused() {
        let good = public(Algorithm::EdDSA, Some("good"));
        let with = |name: &str, value: &str| {
            let mut key = public(Algorithm::HS256, Some("bad"));
            key[name] = json!(value);
            key
        };
        for (bad, complaint) in [
            (with("use", "enc"), "for encryption"),
            (with("alg", "RS256"), "not for keys of its `kty`"),
            (with("alg", "RSA-OAEP"), "not known here"),
            (with("k", "c2hvcnQ"), "at least 32"),
            (json!({ "kty": "RSA" }), "kind is not known"),
            (json!("text"), "no JWK"),
        ] {
            let error = format!("{:#}", accept(std::slice::from_ref(&bad)).expect_err(complaint));
            assert!(error.contains(complaint), "{bad}: {error}");
            let jwt = accept(&[bad, good.clone()]).expect("one is good");
            assert!(
                jwt.holder(&sign(Algorithm::EdDSA, &private(Algorithm::EdDSA), Some("good")))
                    .is_some()
            );
            assert!(
                jwt.holder(&sign(Algorithm::HS256, &private(Algorithm::HS256), Some("bad")))
                    .is_none()
            );
        }
        assert!(accept(&[]).is_err());
        assert!(accept(&vec![good; 101]).is_err(), "too many");
        for text in ["", "[]", "{}", SECRET] {
            let error = read(text.as_bytes()).err().expect("no document").to_string();
            assert!(error.contains("no JWKS document") && !error.contains(SECRET), "{error}");
        }
    }
}
