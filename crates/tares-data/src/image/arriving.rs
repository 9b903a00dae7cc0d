//! Pictures that are decoded while training goes on. Every row is the same as if all had been decoded first.

use crate::error::{DataError, Place, Result};
use crate::format::folder::LabelledFiles;
use crate::format::image::Picture;
use crate::image::Pictures;
use crate::image::decode::one_plane;
use crate::image::look::Look;
use crate::image::rows::PictureParts;
use crate::io::TreeFile;
use std::path::PathBuf;
use tares_core::{Arrivals, Label, RowSource, Shape};

/// Starts decoding files that could be looked at. `colour`: whether training pictures have colours, if these must match some.
pub(crate) fn arrive(
    plan: LabelledFiles<'_>,
    root: PathBuf,
    looks: &[Look],
    (height, width): (usize, usize),
    colour: Option<bool>,
) -> Result<PictureParts> {
    let LabelledFiles { train, test, class_names, labelled, notes } = plan;
    if train.is_empty() {
        return Err(DataError::format(root, Place::File, "holds no picture that can be read"));
    }
    let all_grey = |looks: &[Look]| looks.iter().all(Look::is_grey);
    // One plane is enough if no picture of either part has colours.
    let grey = colour.map_or_else(|| all_grey(looks), |colour| !colour);
    let (train_looks, test_looks) = looks.split_at(train.len());
    let source = PictureFiles {
        root: root.clone(),
        files: train.iter().chain(&test).map(|(file, _)| (*file).clone()).collect(),
        train: train.len(),
        alike: (all_grey(train_looks), all_grey(test_looks)),
        height,
        width,
    };
    let shape = Shape::Image { channels: if grey { 1 } else { 3 }, height, width };
    let arrivals = Arrivals::start(source, looks.len(), shape.size(), rayon::current_num_threads());
    let (train_rows, test_rows) = arrivals.split_at(train.len());
    let pictures = |files: &[(&TreeFile, Label)]| Pictures {
        path: root.clone(),
        shape,
        pixels: Vec::new(),
        labels: files.iter().map(|(_, label)| *label).collect(),
        ids: Some(files.iter().map(|(file, _)| file.path.clone()).collect()),
    };
    Ok(PictureParts {
        train: pictures(&train),
        test: (!test.is_empty()).then(|| pictures(&test)),
        arriving: [Some(train_rows), (!test.is_empty()).then_some(test_rows)],
        class_names: Some(class_names),
        labelled,
        features: None,
        notes,
        column_notes: Vec::new(),
        skipped: Vec::new(),
    })
}

/// Picture files of one training and one test part.
struct PictureFiles {
    root: PathBuf,
    files: Vec<TreeFile>,
    /// How many of them are for training; the others are for testing.
    train: usize,
    /// Whether no picture of either part has colours.
    alike: (bool, bool),
    height: usize,
    width: usize,
}

impl RowSource for PictureFiles {
    fn make(&self, row: usize, out: &mut [u8]) -> std::result::Result<(), String> {
        let bytes = self.files[row].read()?;
        let picture = Picture::decode(&bytes)?;
        let plane = self.height * self.width;
        if out.len() == 3 * plane {
            picture.write(self.height, self.width, out);
        } else {
            let mut planes = vec![0; 3 * plane];
            picture.write(self.height, self.width, &mut planes);
            one_plane(&mut planes, if row < self.train { self.alike.0 } else { self.alike.1 });
            out.copy_from_slice(&planes[..plane]);
        }
        Ok(())
    }

    fn refusal(&self, failed: &[(usize, String)]) -> String {
        let files = failed.iter().map(|(row, why)| (self.files[*row].path.clone().into(), why.clone())).collect();
        DataError::Unreadable { root: self.root.clone(), files }.to_string()
    }
}
