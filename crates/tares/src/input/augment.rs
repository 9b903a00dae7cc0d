//! [`Augment`]: how pictures are varied in training.

use crate::error::Result;
use crate::text_or_table::text_or_table;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::{Error, Stream};

/// How pictures are varied in training; nothing by default.
///
/// As text `none`, or what is done, joined by a plus: `flip`, `crop:4+flip`, `resized-crop:56+flip`; `crop-flip` is short for
/// `crop:4+flip`. In files that text or a table.
///
/// ```
/// use tares::Augment;
/// assert_eq!("crop-flip".parse::<Augment>()?, Augment { pad_crop: 4, flip: true, ..Augment::default() });
/// assert!(Augment { pad_crop: 4, resized_crop: 56, ..Augment::default() }.check().is_err());
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(into = "String")]
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

impl fmt::Display for Augment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crop = (self.pad_crop > 0).then(|| format!("crop:{}", self.pad_crop));
        let resized = (self.resized_crop > 0).then(|| format!("resized-crop:{}", self.resized_crop));
        let parts: Vec<String> = [crop, resized, self.flip.then(|| "flip".to_owned())].into_iter().flatten().collect();
        f.write_str(&if parts.is_empty() { "none".to_owned() } else { parts.join("+") })
    }
}

impl FromStr for Augment {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut augment = Self::default();
        for part in text.trim().split('+') {
            let (name, size) = part.split_once(':').map_or((part, None), |(name, size)| (name, Some(size)));
            let pixels = |example: &str| {
                let size = size.and_then(|size| size.parse().ok()).filter(|&size: &usize| size > 0);
                size.ok_or_else(|| Error::value("augmentation", format!("written as in {example}"), text))
            };
            match (name, size) {
                ("none", None) if text.trim() == "none" => {}
                ("flip", None) => augment.flip = true,
                ("crop-flip", None) => (augment.pad_crop, augment.flip) = (4, true),
                ("crop", _) => augment.pad_crop = pixels("crop:4")?,
                ("resized-crop", _) => augment.resized_crop = pixels("resized-crop:56")?,
                _ => {
                    let known = ["none", "flip", "crop", "crop-flip", "resized-crop"];
                    return Err(Error::unknown("augmentation", part, &known).into());
                }
            }
        }
        augment.check()?;
        Ok(augment)
    }
}

impl From<Augment> for String {
    fn from(augment: Augment) -> Self {
        augment.to_string()
    }
}

impl<'de> Deserialize<'de> for Augment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let expected = "an augmentation such as \"crop:4+flip\", or a table with its numbers";
        text_or_table::<_, _, AugmentTable>(deserializer, expected)
    }
}

/// An [`Augment`] as a table.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct AugmentTable {
    pad_crop: usize,
    flip: bool,
    resized_crop: usize,
}

impl From<AugmentTable> for Augment {
    fn from(AugmentTable { pad_crop, flip, resized_crop }: AugmentTable) -> Self {
        Self { pad_crop, flip, resized_crop }
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
    fn augmentations_survive_their_text_and_files_take_tables_too() {
        for text in ["none", "flip", "crop:4", "crop:4+flip", "resized-crop:56", "resized-crop:56+flip"] {
            let augment: Augment = text.parse().unwrap();
            assert_eq!(augment.to_string(), text);
            let file = serde_json::to_string(&augment).unwrap();
            assert_eq!(serde_json::from_str::<Augment>(&file).unwrap(), augment, "{file}");
        }
        let table = r#"{"pad_crop": 4, "flip": true}"#;
        assert_eq!(serde_json::from_str::<Augment>(table).unwrap(), "crop-flip".parse().unwrap());
        for bad in ["", "flop", "crop", "crop:0", "crop:-1", "flip:3", "none+flip", "crop:4+resized-crop:8", "flip+"] {
            assert!(bad.parse::<Augment>().is_err(), "{bad}");
        }
    }

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
