//! [`Describer`]: a network that turns pictures into features while they are read, so that no picture has to be kept in full.

use crate::error::{DataError, Place, Result};
use crate::format::image::Picture;
use crate::image::Pictures;
use crate::load::{ReadProgress, Stage};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tares_core::Shape;

/// Pictures are described in groups of this many, and progress is told in between.
pub(crate) const GROUP: usize = 32;

/// The side of the pictures that are kept to be shown, when a network has seen them in full.
pub(crate) const SHOWN_SIZE: usize = 96;

/// The digest of what a picture is made from: the bytes of its file, or its shape and pixels.
pub type PictureDigest = [u8; 32];

/// Turns one picture into a row of numbers. Called from several threads at once; the numbers of a picture must depend on
/// nothing but the picture.
pub trait Describer: Send + Sync {
    /// Which network this is and how it is shown pictures: describers with the same name give the same numbers.
    fn name(&self) -> &str;

    /// Numbers per picture.
    fn width(&self) -> usize;

    /// Writes the numbers of one picture. Equal contents have equal numbers, so they may be remembered by `content`.
    ///
    /// # Errors
    /// Why no picture can be described any more, in words; reading ends.
    fn describe(&self, content: &PictureDigest, picture: &Picture, out: &mut [f32]) -> std::result::Result<(), String>;
}

/// A [`Describer`] among the options of reading; equal to another one of the same name.
#[derive(Clone)]
pub struct SharedDescriber(pub Arc<dyn Describer>);

impl fmt::Debug for SharedDescriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedDescriber").field(&self.0.name()).finish()
    }
}

impl PartialEq for SharedDescriber {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

/// The digest of a picture's file.
pub(crate) fn digest_of_file(bytes: &[u8]) -> PictureDigest {
    Sha256::digest(bytes).into()
}

fn digest_of_pixels(channels: usize, height: usize, width: usize, pixels: &[u8]) -> PictureDigest {
    let mut digest = Sha256::new();
    digest.update(format!("{channels}x{height}x{width} "));
    digest.update(pixels);
    digest.finalize().into()
}

/// Describes pictures that came as pixels and not as files.
pub(crate) fn describe_pixels(
    pictures: &Pictures,
    describer: &dyn Describer,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<Vec<f32>> {
    let Shape::Image { channels, height, width } = pictures.shape else {
        return Err(DataError::format(&pictures.path, Place::File, "holds numbers, not pictures"));
    };
    let size = pictures.shape.size();
    let total = pictures.labels.len();
    let mut features = vec![0f32; total * describer.width()];
    let groups = features.chunks_mut(GROUP * describer.width()).zip(pictures.pixels.chunks(GROUP * size));
    for (group, (features, pixels)) in groups.enumerate() {
        let rows = features.par_chunks_mut(describer.width()).zip(pixels.par_chunks(size));
        rows.try_for_each(|(out, pixels)| {
            let picture = Picture::from_planes(channels, height, width, pixels)
                .ok_or_else(|| format!("pictures have {channels} planes, 1 or 3 are needed"))?;
            describer.describe(&digest_of_pixels(channels, height, width, pixels), &picture, out)
        })
        .map_err(|why| failed(&pictures.path, why))?;
        let done = ((group + 1) * GROUP).min(total) as u64;
        progress(ReadProgress { stage: Stage::Describe, done, total: Some(total as u64) });
    }
    Ok(features)
}

/// The error of a describer.
pub(crate) fn failed(path: &Path, why: String) -> DataError {
    DataError::format(path, Place::File, why)
}
