//! Arguments as they are stored: JSON text, so that every tool can show them. Bytes are a JSON string in base64.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Serialize, de::DeserializeOwned};

use super::error::BoxError;

/// The arguments of a job, encoded.
///
/// A task with much data may choose a compact form:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use turnabout::task::{Args, BoxError};
/// use turnabout::Task;
///
/// #[derive(Serialize, Deserialize)]
/// struct Thumbnail { pixels: Vec<u8> }
///
/// impl Task for Thumbnail {
///     const NAME: &'static str = "thumbnail";
///
///     fn encode(&self) -> Result<Args<'static>, BoxError> {
///         Ok(Args::bytes(&self.pixels)) // or what postcard, bincode and the like make of `self`
///     }
///
///     fn decode(args: &Args<'_>) -> Result<Self, BoxError> {
///         Ok(Self { pixels: args.to_bytes()? })
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Args<'a>(Cow<'a, str>);

impl<'a> Args<'a> {
    /// A value as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Args<'static>, BoxError> {
        Ok(Args(Cow::Owned(serde_json::to_string(value)?)))
    }

    /// Bytes, a third longer when stored.
    pub fn bytes(bytes: &[u8]) -> Args<'static> {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4 + 2);
        text.push('"');
        STANDARD_NO_PAD.encode_string(bytes, &mut text);
        text.push('"');
        Args(Cow::Owned(text))
    }

    /// Reads JSON.
    pub fn to_json<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        Ok(serde_json::from_str(&self.0)?)
    }

    /// Reads bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BoxError> {
        let text: Cow<'_, str> = serde_json::from_str(&self.0)?;
        Ok(STANDARD_NO_PAD.decode(text.as_bytes())?)
    }

    /// What is stored: JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn stored(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub(crate) fn into_text(self) -> String {
        self.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        for length in 0..50u8 {
            let bytes: Vec<u8> = (0..length).map(|n| n.wrapping_mul(37)).collect();
            let args = Args::bytes(&bytes);
            assert_eq!(args.to_bytes().expect("bytes"), bytes);
            args.to_json::<String>().expect("what is stored is JSON");
        }
        Args::stored("{}").to_bytes().expect_err("an object is not bytes");
        Args::stored("\"?\"").to_bytes().expect_err("not base64");
    }
}
