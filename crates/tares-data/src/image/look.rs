//! A look at every picture file before any is decoded: whether it can be read, its size, and whether it has colours.

use crate::format::image::{self, Header};
use crate::image::decode::DEFAULT_SIZE;
use crate::io::TreeFile;
use crate::load::{ReadProgress, Stage};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Pictures with more pixels than this are made smaller unless a size is asked for.
const LARGEST: usize = 128 * 128;

/// Files are looked at in groups of this many, and progress is told in between.
const GROUP: usize = 1024;

/// What a look at a file told.
pub(crate) struct Look {
    /// Its header, if it has one.
    header: Option<Header>,
    /// Why it cannot be read.
    trouble: Option<String>,
}

/// Looks at files, on all cores.
pub(crate) fn look(files: &[&TreeFile], progress: &mut dyn FnMut(ReadProgress)) -> Vec<Look> {
    let mut looks = Vec::with_capacity(files.len());
    for group in files.chunks(GROUP) {
        looks.par_extend(group.par_iter().map(|file| Look::at(file)));
        progress(ReadProgress { stage: Stage::Look, done: looks.len() as u64, total: Some(files.len() as u64) });
    }
    looks
}

impl Look {
    fn at(file: &TreeFile) -> Self {
        let bytes = match file.read() {
            Ok(bytes) => bytes,
            Err(why) => return Self { header: None, trouble: Some(why) },
        };
        match image::header(&bytes) {
            Ok(header) => Self { header: Some(header), trouble: image::check_end(&bytes).err() },
            Err(why) => Self { header: None, trouble: Some(why) },
        }
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.header.is_some_and(|header| header.grey)
    }
}

/// The files that cannot be read, and why.
pub(crate) fn unreadable(files: &[&TreeFile], looks: &[Look]) -> Vec<(PathBuf, String)> {
    let trouble = |(file, look): (&&TreeFile, &Look)| Some((file.path.clone().into(), look.trouble.clone()?));
    files.iter().zip(looks).filter_map(trouble).collect()
}

/// The size all pictures have, if they have one and it is small; else the default.
pub(crate) fn common_size(looks: &[Look], notes: &mut Vec<String>) -> (usize, usize) {
    let headers = looks.iter().filter_map(|look| look.header);
    let sizes: BTreeSet<(usize, usize)> = headers.map(|header| (header.height, header.width)).collect();
    let same = (sizes.len() == 1).then(|| sizes.first().copied()).flatten();
    match same {
        Some((height, width)) if height * width <= LARGEST => (height, width),
        _ => {
            let why = if same.is_some() { "are large" } else { "have different sizes" };
            notes.push(format!(
                "pictures {why}: all became {DEFAULT_SIZE}x{DEFAULT_SIZE} (--image-size chooses another)"
            ));
            (DEFAULT_SIZE, DEFAULT_SIZE)
        }
    }
}
