//! `digits`: the UCI optical digits, inside the program. 3,823 pictures to train on and 1,797 to test on, 8×8, written by
//! different people. Licence CC BY 4.0; Alpaydin & Kaynak, Cascading Classifiers, Kybernetika 34(4), 1998.
//!
//! The original pixels count ink in 4×4 blocks, 0..=16. They are stored here as bytes `round(v · 255 / 16)`, so that a
//! network sees `v / 16` (to 1/510) like any other picture, and a page can draw them. Nothing is lost: the 17 levels stay apart.

use crate::error::{DataError, Place, Result};
use crate::image::Pictures;
use crate::io::Input;
use std::io::Read;
use tares_core::Shape;

const TRAIN: &[u8] = include_bytes!("../../data/optdigits.tra.gz");
const TEST: &[u8] = include_bytes!("../../data/optdigits.tes.gz");
const PIXELS: usize = 64;

/// The training and the test pictures.
///
/// # Errors
/// None in a sound build: the data are part of the program.
pub fn read() -> Result<(Pictures, Pictures)> {
    Ok((parse("digits (train)", TRAIN)?, parse("digits (test)", TEST)?))
}

/// The byte that stands for ink count `level` (0..=16).
pub fn to_byte(level: u8) -> u8 {
    ((u16::from(level) * 255 + 8) / 16) as u8
}

/// The ink count (0..=16) that a byte stands for.
pub fn to_level(byte: u8) -> u8 {
    ((u16::from(byte) * 16 + 127) / 255) as u8
}

fn parse(name: &str, gzipped: &[u8]) -> Result<Pictures> {
    let mut text = String::new();
    Input::from_bytes(name, gzipped.to_vec())?
        .read_to_string(&mut text)
        .map_err(|source| DataError::io(name, "read", source))?;
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for (line, row) in text.lines().enumerate() {
        let numbers: Option<Vec<u8>> = row.split(',').map(|cell| cell.trim().parse().ok()).collect();
        match numbers.as_deref() {
            Some([levels @ .., label]) if levels.len() == PIXELS && levels.iter().all(|&level| level <= 16) => {
                pixels.extend(levels.iter().map(|&level| to_byte(level)));
                labels.push(u32::from(*label));
            }
            _ => {
                return Err(DataError::format(
                    name,
                    Place::Line(line as u64 + 1),
                    "needs 64 numbers 0..=16 and a class",
                ));
            }
        }
    }
    Ok(Pictures {
        path: name.into(),
        shape: Shape::Image { channels: 1, height: 8, width: 8 },
        pixels,
        labels,
        ids: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_published_counts_and_classes() {
        let (train, test) = read().unwrap();
        let counts =
            |part: &Pictures| (0..10).map(|class| part.labels.iter().filter(|&&l| l == class).count()).collect();
        let (train_counts, test_counts): (Vec<_>, Vec<_>) = (counts(&train), counts(&test));
        // From optdigits.names, section 9.
        assert_eq!(train_counts, [376, 389, 380, 389, 387, 376, 377, 387, 380, 382]);
        assert_eq!(test_counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert_eq!((train.pixels.len(), test.pixels.len()), (3823 * 64, 1797 * 64));
    }

    #[test]
    fn the_first_row_is_the_published_zero() {
        // First line of optdigits.tra: 0,1,6,15,12,1,0,0,0,7,16,6,6,10,0,0,... the picture is not symmetric.
        let (train, _) = read().unwrap();
        let levels: Vec<u8> = train.pixels[..16].iter().map(|&byte| to_level(byte)).collect();
        assert_eq!(levels, [0, 1, 6, 15, 12, 1, 0, 0, 0, 7, 16, 6, 6, 10, 0, 0]);
        assert_eq!(train.labels[0], 0);
    }

    #[test]
    fn bytes_and_levels_are_one_to_one_and_scaled() {
        for level in 0..=16 {
            assert_eq!(to_level(to_byte(level)), level);
            assert!((f64::from(to_byte(level)) / 255.0 - f64::from(level) / 16.0).abs() <= 1.0 / 510.0 + 1e-12);
        }
    }
}
