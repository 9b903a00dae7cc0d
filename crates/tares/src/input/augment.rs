//! [`Augment`]: how pictures are varied in training.

use crate::error::Result;
use serde::{Deserialize, Serialize};
use tares_core::{Error, Stream};

/// How pictures are varied in training; nothing by default.
///
/// ```
/// use tares::Augment;
/// Augment { pad_crop: 4, flip: true, ..Augment::default() }.check()?;
/// assert!(Augment { pad_crop: 4, resized_crop: 56, ..Augment::default() }.check().is_err());
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Augment {
    /// Pad each side by this many pixels and cut the original size at a random place; 0 is off.
    pub pad_crop: usize,
    /// Mirror left and right with probability ½.
    pub flip: bool,
    /// Cut a random window of 8 to 100 % of the area, with an aspect of 3:4 to 4:3, and resize it to a square of this
    /// many pixels; 0 is off. In testing, the middle of that size is cut out instead.
    pub resized_crop: usize,
}

impl Augment {
    /// Refuses two crops at once.
    ///
    /// # Errors
    /// Both crops are on.
    pub fn check(&self) -> Result<()> {
        if self.pad_crop > 0 && self.resized_crop > 0 {
            return Err(Error::value("augmentation", "one of pad_crop and resized_crop", "both").into());
        }
        Ok(())
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A random window `[top, left, height, width]` of 8–100 % of the area with an aspect of 3:4 to 4:3; the middle
/// square if ten draws don't fit.
pub(crate) fn window(height: usize, width: usize, stream: &mut Stream) -> [usize; 4] {
    for _ in 0..10 {
        let area = (height * width) as f64 * (0.08 + 0.92 * stream.unit());
        let aspect = ((3.0f64 / 4.0).ln() + stream.unit() * (16.0f64 / 9.0).ln()).exp();
        let (h, w) = ((area / aspect).sqrt().round() as usize, (area * aspect).sqrt().round() as usize);
        if (1..=height).contains(&h) && (1..=width).contains(&w) {
            return [stream.below(height - h + 1), stream.below(width - w + 1), h, w];
        }
    }
    let side = height.min(width);
    [(height - side) / 2, (width - side) / 2, side, side]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    #[test]
    fn windows_stay_inside() {
        let mut draws = stream(2, "t");
        for (height, width) in [(64, 64), (7, 31), (1, 9)] {
            for _ in 0..1000 {
                let [top, left, h, w] = window(height, width, &mut draws);
                assert!(h >= 1 && w >= 1 && top + h <= height && left + w <= width);
            }
        }
    }
}
