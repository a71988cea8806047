//! How a request says who sent it: `Turnabout-Signature: t=1700000000,v1=HEX`, where HEX is the HMAC-SHA256 of the time, a
//! full stop and the body. With the time inside, an old request cannot be sent again much later.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header that holds it.
pub(crate) const HEADER: &str = "turnabout-signature";

/// The header's value for a body that is sent at this time, in seconds.
pub(crate) fn sign(key: &[u8], time: i64, body: &[u8]) -> String {
    use std::fmt::Write as _;
    // A key may have any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    mac.update(time.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    let mut text = format!("t={time},v1=");
    for byte in mac.finalize().into_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_other_tools_compute() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
        assert_eq!(
            sign(b"key", 1_700_000_000, br#"{"a":1}"#),
            "t=1700000000,v1=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }
}
