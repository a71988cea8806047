//! Keys as PEM: base64 between two lines that say what it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What stands before the 32 bytes of a public Ed25519 key (RFC 8410).
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The first thing of this kind in a text.
pub(super) fn find(text: &[u8], kind: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, rest) = text.split_once(&format!("-----BEGIN {kind}-----"))?;
    let (lines, _) = rest.split_once(&format!("-----END {kind}-----"))?;
    STANDARD.decode(lines.split_ascii_whitespace().collect::<String>()).ok()
}

/// A public Ed25519 key.
pub(super) fn ed25519(text: &[u8]) -> Option<[u8; 32]> {
    find(text, "PUBLIC KEY")?.strip_prefix(&ED25519)?.try_into().ok()
}
