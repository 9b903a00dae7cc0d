//! Fitted models as bytes.
//!
//! JSON in an envelope that names format, version and kind. What is read is checked part by part before it is used: any
//! bytes give a usable model or an error. Reading takes memory in proportion to the bytes.
//!
//! ```
//! use tares_judges::{TextCounts, TextFeatures, TextOptions, stored};
//! let features = TextFeatures::fit(&TextCounts::of(&["a cat", "a dog", "a cat"], TextOptions::default())?)?;
//! let bytes = stored::write(&features);
//! assert_eq!(stored::read::<TextFeatures>(&bytes)?, features);
//! assert!(stored::read::<tares_judges::Trees>(&bytes).is_err());
//! # Ok::<(), tares_judges::Error>(())
//! ```

use crate::bayes::Bayes;
use crate::error::{Error, Result, stored};
use crate::forest::Forest;
use crate::linear::Linear;
use crate::panel::Panel;
use crate::text::features::TextFeatures;
use crate::trees::Trees;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "tares-judge";
const VERSION: u32 = 1;

/// A model that can be stored.
pub trait Storable: Serialize + DeserializeOwned + sealed::Checked {}

pub(crate) mod sealed {
    use crate::error::Result;

    pub trait Checked {
        /// Its name in the file.
        const KIND: &'static str;
        /// Checks that the parts of a model that was read fit together.
        fn check_read(&self) -> Result<()>;
    }
}

macro_rules! storable {
    ($($type:ty: $kind:literal),*) => {$(
        impl Storable for $type {}
        impl sealed::Checked for $type {
            const KIND: &'static str = $kind;
            fn check_read(&self) -> Result<()> {
                self.check()
            }
        }
    )*};
}
storable!(Linear: "linear", Trees: "trees", Bayes: "bayes", Forest: "forest", TextFeatures: "text", Panel: "panel");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<M> {
    format: String,
    version: u32,
    kind: String,
    model: M,
}

/// The envelope alone: the model's own fields are only read once format and version are known.
#[derive(Deserialize)]
struct Cover {
    format: String,
    version: u32,
    kind: String,
}

/// A model as bytes.
pub fn write<M: Storable>(model: &M) -> Vec<u8> {
    let (format, kind) = (FORMAT.to_owned(), M::KIND.to_owned());
    serde_json::to_vec(&Envelope { format, version: VERSION, kind, model }).expect("numbers and text are always JSON")
}

/// A model from bytes.
///
/// # Errors
/// Bytes that are no model of this kind and version, or whose parts contradict each other.
pub fn read<M: Storable>(bytes: &[u8]) -> Result<M> {
    let no_json = |error: serde_json::Error| Error::Stored(error.to_string());
    let cover: Cover = serde_json::from_slice(bytes).map_err(no_json)?;
    stored(cover.format == FORMAT, "this is not a model of tares-judges")?;
    if cover.version != VERSION {
        let said =
            format!("version must be {VERSION}, got {}: use the program that wrote it, or a newer one", cover.version);
        return Err(Error::Stored(said));
    }
    if cover.kind != M::KIND {
        return Err(Error::Stored(format!("kind must be {}, got {}", M::KIND, cover.kind)));
    }
    let envelope: Envelope<M> = serde_json::from_slice(bytes).map_err(no_json)?;
    envelope.model.check_read()?;
    Ok(envelope.model)
}
