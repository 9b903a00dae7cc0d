//! IDX, the format of MNIST: big-endian header, then bytes.
//!
//! ```text
//! 00 00 08 d | d sizes of 4 bytes, big-endian | one byte per element, last index fastest
//! ```
//! Images have d = 3 (rows, height, width) or 4 (rows, channels, height, width); labels have d = 1.

use crate::error::{DataError, Place, Result};
use crate::image::Pictures;
use crate::io::Input;
use std::path::{Path, PathBuf};
use tares_core::{Label, Shape};

/// An IDX array of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// The sizes, slowest index first.
    pub sizes: Vec<usize>,
    /// The elements.
    pub values: Vec<u8>,
}

/// Reads one IDX file of unsigned bytes.
///
/// # Errors
/// A wrong magic number or element type; fewer or more bytes than the sizes say.
pub fn read(mut input: Input) -> Result<Idx> {
    let path = input.path().to_owned();
    let bad = |offset, problem: String| DataError::format(&path, Place::Offset(offset), problem);
    let magic: [u8; 4] = input.array("IDX header")?;
    if magic[0] != 0 || magic[1] != 0 {
        return Err(bad(0, format!("IDX files start with two zero bytes, got {:02x} {:02x}", magic[0], magic[1])));
    }
    if magic[2] != 8 {
        return Err(bad(2, format!("IDX elements must be unsigned bytes (08), got type {:02x}", magic[2])));
    }
    if !(1..=4).contains(&magic[3]) {
        return Err(bad(3, format!("IDX arrays here have 1 to 4 sizes, got {}", magic[3])));
    }
    let sizes = (0..magic[3])
        .map(|_| Ok(u32::from_be_bytes(input.array("IDX header")?) as usize))
        .collect::<Result<Vec<_>>>()?;
    let count = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size as u64));
    let count = count.ok_or_else(|| bad(4, format!("IDX sizes {sizes:?} multiply to more than a computer holds")))?;
    let values = input.exactly(count, "the array")?;
    input.end("IDX header")?;
    Ok(Idx { sizes, values })
}

/// Reads images and labels that belong together.
///
/// # Errors
/// What [`read`] refuses; images that are not pictures, labels that are not a list, different counts.
pub fn read_pair(images: Input, labels: Input) -> Result<Pictures> {
    let (images_path, labels_path) = (images.path().to_owned(), labels.path().to_owned());
    let images = read(images)?;
    let labels = read(labels)?;
    let shape = match images.sizes[..] {
        [_, height, width] => Shape::Image { channels: 1, height, width },
        [_, channels, height, width] => Shape::Image { channels, height, width },
        _ => {
            let problem = format!("images need 3 sizes (rows, height, width), got {:?}", images.sizes);
            return Err(DataError::format(images_path, Place::Offset(3), problem));
        }
    };
    if labels.sizes.len() != 1 {
        let problem = format!("labels need 1 size (rows), got {:?}", labels.sizes);
        return Err(DataError::format(labels_path, Place::Offset(3), problem));
    }
    if images.sizes[0] != labels.sizes[0] {
        let problem = format!("{} labels for {} images of {}", labels.sizes[0], images.sizes[0], images_path.display());
        return Err(DataError::format(labels_path, Place::Offset(4), problem));
    }
    Ok(Pictures {
        path: images_path,
        shape,
        pixels: images.values,
        labels: labels.values.iter().map(|&label| Label::from(label)).collect(),
        ids: None,
    })
}

/// The bytes of an IDX file.
pub fn encode(sizes: &[usize], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|&size| bytes.extend((size as u32).to_be_bytes()));
    bytes.extend_from_slice(values);
    bytes
}

/// The IDX files of a folder: train images and labels, then test images and labels if there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxFiles {
    /// Images and labels to train on.
    pub train: (PathBuf, PathBuf),
    /// Images and labels to test on.
    pub test: Option<(PathBuf, PathBuf)>,
}

/// Finds MNIST-like names in a folder, plain or `.gz`, with `-` or `.` before `idx`. `None` if there is no training pair.
pub fn find(folder: &Path) -> Option<IdxFiles> {
    let pair = |prefixes: &[&str]| {
        prefixes.iter().find_map(|prefix| {
            let file = |kind: &str, sizes: u8| {
                ["-", "."].iter().flat_map(|dash| ["", ".gz"].map(|gz| (dash, gz))).find_map(|(dash, gz)| {
                    let path = folder.join(format!("{prefix}-{kind}{dash}idx{sizes}-ubyte{gz}"));
                    path.is_file().then_some(path)
                })
            };
            Some((file("images", 3)?, file("labels", 1)?))
        })
    };
    Some(IdxFiles { train: pair(&["train"])?, test: pair(&["t10k", "test"]) })
}

/// The labels file that belongs to an images file by name, or the other way round: `(images, labels)`.
pub fn partner(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let name = path.file_name()?.to_str()?;
    let swapped = |from: &str, to: &str, from_sizes: &str, to_sizes: &str| {
        let other = name.replace(from, to).replace(from_sizes, to_sizes);
        (other != name)
            .then(|| {
                let plain = other.strip_suffix(".gz").unwrap_or(&other).to_owned();
                [other, format!("{plain}.gz"), plain].map(|name| path.with_file_name(name))
            })?
            .into_iter()
            .find(|path| path.is_file())
    };
    if name.contains("images") {
        Some((path.into(), swapped("images", "labels", "idx3", "idx1")?))
    } else {
        Some((swapped("labels", "images", "idx1", "idx3")?, path.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: Vec<u8>) -> Input {
        Input::from_bytes("x.idx", bytes).unwrap()
    }

    #[test]
    fn keeps_rows_columns_and_labels_in_order() {
        // Two pictures of 2 rows and 3 columns; only pixel (row 1, column 2) of the second is lit.
        let mut pixels = vec![0; 12];
        pixels[6 + 3 + 2] = 200;
        let pictures =
            read_pair(input(encode(&[2, 2, 3], &pixels)), input(encode(&[2], &[4, 7]))).expect("a good pair");
        assert_eq!(pictures.shape, Shape::Image { channels: 1, height: 2, width: 3 });
        assert_eq!(pictures.pixels, pixels);
        assert_eq!(pictures.labels, [4, 7]);
    }

    #[test]
    fn says_what_is_wrong_with_a_bad_file() {
        let cases: [(Vec<u8>, &str); 7] = [
            (vec![], "x.idx: ends inside its IDX header (is it cut off?)"),
            (vec![1, 0, 8, 1], "x.idx: byte 0: IDX files start with two zero bytes, got 01 00"),
            (vec![0, 0, 0x0d, 1], "x.idx: byte 2: IDX elements must be unsigned bytes (08), got type 0d"),
            (vec![0, 0, 8, 9], "x.idx: byte 3: IDX arrays here have 1 to 4 sizes, got 9"),
            (encode(&[3], &[1, 2]), "x.idx: the array should take 3 bytes, got 2 (is the file cut off?)"),
            (encode(&[1], &[1, 2]), "x.idx: has more bytes than its IDX header should"),
            (
                vec![0, 0, 8, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
                "x.idx: byte 4: IDX sizes [4294967295, 4294967295, 4294967295, 4294967295] multiply to more than a \
                 computer holds",
            ),
        ];
        for (bytes, message) in cases {
            assert_eq!(read(input(bytes)).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn counts_must_agree() {
        let error = read_pair(input(encode(&[2, 1, 1], &[0, 0])), input(encode(&[1], &[0]))).unwrap_err();
        assert_eq!(error.to_string(), "x.idx: byte 4: 1 labels for 2 images of x.idx");
    }
}
