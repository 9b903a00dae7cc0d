//! Picture files → pixels of one size, on all cores, before anything else or (`arriving.rs`) while training goes on.

use crate::error::{DataError, Place, Result};
use crate::format::folder::LabelledFiles;
use crate::format::image::Picture;
use crate::image::Pictures;
use crate::image::arriving::arrive;
use crate::image::describe::{self, Describer, SHOWN_SIZE, failed};
use crate::image::look::{common_size, look, unreadable};
use crate::image::rows::PictureParts;
use crate::io::TreeFile;
use crate::load::{LoadOptions, ReadProgress, Stage};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use tares_core::{Label, Shape};

/// Pictures of different sizes, and large ones, become this high and wide unless a size is asked for.
pub const DEFAULT_SIZE: usize = 64;

/// Pictures are decoded in groups of this many, and progress is told in between.
const GROUP: usize = 256;

/// Stands for "colour, of any size".
pub(crate) const COLOUR: Shape = Shape::Image { channels: 3, height: 0, width: 0 };

/// Decodes files on all cores. `like`: the shape of the training pictures, which these must match. `problems`: files that could not even be opened.
pub(crate) fn decode(
    plan: LabelledFiles<'_>,
    root: &Path,
    mut problems: Vec<(PathBuf, String)>,
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    let root = root.to_owned();
    let files: Vec<&TreeFile> = plan.train.iter().chain(&plan.test).map(|(file, _)| *file).collect();
    let mut notes = plan.notes;
    // A describer and --skip-unreadable need every picture before it is known which rows there are.
    let arriving = options.arriving && options.describer.is_none() && !options.skip_unreadable;
    let sized = options.image_size.is_some() || options.describer.is_some() || height_of(like) > 0;
    let looks = if arriving || !sized { look(&files, progress) } else { Vec::new() };
    let (height, width) = match (options.image_size, like) {
        (_, Some(Shape::Image { height, width, .. })) if height > 0 => (height, width),
        (Some((height, width)), _) if height == 0 || width == 0 || height * width > 1 << 24 => {
            let got = format!("{height}x{width}");
            return Err(tares_core::Error::value("image size", "from 1x1 to 16 million pixels", got).into());
        }
        (Some(size), _) => size,
        (None, _) if options.describer.is_some() => (SHOWN_SIZE, SHOWN_SIZE),
        (None, _) => common_size(&looks, &mut notes),
    };
    let colour = channels_of(like);
    if arriving {
        problems.extend(unreadable(&files, &looks));
        if !problems.is_empty() {
            return Err(DataError::Unreadable { root, files: problems });
        }
        let plan = LabelledFiles { notes, ..plan };
        return arrive(plan, root, &looks, (height, width), colour);
    }
    let labels = |part: &[(&TreeFile, Label)]| part.iter().map(|(_, label)| *label).collect::<Vec<_>>();
    let total = files.len() as u64;
    let describer = options.describer.as_ref().map(|shared| shared.0.as_ref());
    let stage = if describer.is_some() { Stage::Describe } else { Stage::Decode };
    let mut done = 0;
    let mut report = |count: usize| {
        done += count as u64;
        progress(ReadProgress { stage, done, total: Some(total) });
    };
    let read_part = |part: &[(&TreeFile, Label)], problems: &mut Vec<_>, report: &mut dyn FnMut(usize)| {
        let files: Vec<&TreeFile> = part.iter().map(|(file, _)| *file).collect();
        decode_all(&files, labels(part), (height, width), describer, problems, report)
    };
    let mut train = read_part(&plan.train, &mut problems, &mut report).map_err(|why| failed(&root, why))?;
    let test = (!plan.test.is_empty()).then(|| read_part(&plan.test, &mut problems, &mut report));
    let mut test = test.transpose().map_err(|why| failed(&root, why))?;
    if !problems.is_empty() && !options.skip_unreadable {
        return Err(DataError::Unreadable { root, files: problems });
    }
    if train.labels.is_empty() {
        return Err(DataError::format(root, Place::File, "holds no picture that can be read"));
    }
    // One plane is enough if no picture of either part has colours.
    let grey = match colour {
        Some(colour) => !colour,
        None => train.grey && test.as_ref().is_none_or(|test| test.grey),
    };
    let mut features = |part: &mut Decoded| std::mem::take(&mut part.features);
    let features = describer.map(|_| (features(&mut train), test.as_mut().map(&mut features).unwrap_or_default()));
    let finish = |part: Decoded| part.into_pictures(&root, (height, width), grey);
    Ok(PictureParts {
        test: test.take().filter(|test| !test.labels.is_empty()).map(finish),
        train: finish(std::mem::take(&mut train)),
        arriving: [None, None],
        class_names: Some(plan.class_names),
        labelled: plan.labelled,
        features,
        notes,
        column_notes: Vec::new(),
        skipped: problems,
    })
}

fn height_of(like: Option<Shape>) -> usize {
    match like {
        Some(Shape::Image { height, .. }) => height,
        _ => 0,
    }
}

fn channels_of(like: Option<Shape>) -> Option<bool> {
    match like {
        Some(Shape::Image { channels, .. }) => Some(channels == 3),
        _ => None,
    }
}

/// Pictures with three planes each.
#[derive(Default)]
struct Decoded {
    pixels: Vec<u8>,
    labels: Vec<Label>,
    ids: Vec<String>,
    /// What a describer made of them.
    features: Vec<f32>,
    grey: bool,
}

/// Why a file gives no row.
enum Trouble {
    /// It cannot be read; others can.
    File(String),
    /// The describer gave up.
    Describer(String),
}

/// Decodes files group by group; the error is that of the describer.
fn decode_all(
    files: &[&TreeFile],
    labels: Vec<Label>,
    (height, width): (usize, usize),
    describer: Option<&dyn Describer>,
    problems: &mut Vec<(PathBuf, String)>,
    report: &mut dyn FnMut(usize),
) -> std::result::Result<Decoded, String> {
    let group = if describer.is_some() { describe::GROUP } else { GROUP };
    let described = describer.map_or(0, Describer::width);
    let size = 3 * height * width;
    // Zeros that nobody wrote take no memory yet: each core fetches the pages that it fills.
    let mut decoded = Decoded { grey: true, pixels: vec![0; files.len() * size], ..Decoded::default() };
    for (files, labels) in files.chunks(group).zip(labels.chunks(group)) {
        // Behind the pictures that could be read.
        let first = decoded.labels.len();
        let room = &mut decoded.pixels[first * size..][..files.len() * size];
        let outcomes: Vec<std::result::Result<(bool, Vec<f32>), Trouble>> = files
            .par_iter()
            .zip(room.par_chunks_mut(size))
            .map(|(file, out)| {
                let bytes = file.read().map_err(Trouble::File)?;
                let picture = Picture::decode(&bytes).map_err(Trouble::File)?;
                let mut features = vec![0.0; described];
                match describer {
                    None => picture.write(height, width, out),
                    Some(describer) => {
                        let content = describe::digest_of_file(&bytes);
                        describer.describe(&content, &picture, &mut features).map_err(Trouble::Describer)?;
                        picture.write_cropped(height, width, out);
                    }
                }
                Ok((picture.grey, features))
            })
            .collect();
        for (place, ((outcome, file), label)) in outcomes.into_iter().zip(files).zip(labels).enumerate() {
            match outcome {
                Ok((grey, features)) => {
                    decoded.features.extend(features);
                    decoded.grey &= grey;
                    let (from, to) = ((first + place) * size, decoded.labels.len() * size);
                    if from > to {
                        decoded.pixels.copy_within(from..from + size, to);
                    }
                    decoded.labels.push(*label);
                    decoded.ids.push(file.path.clone());
                }
                Err(Trouble::File(why)) => problems.push((file.path.clone().into(), why)),
                Err(Trouble::Describer(why)) => return Err(format!("{}: {why}", file.path)),
            }
        }
        report(files.len());
    }
    decoded.pixels.truncate(decoded.labels.len() * size);
    Ok(decoded)
}

impl Decoded {
    fn into_pictures(mut self, root: &Path, (height, width): (usize, usize), grey: bool) -> Pictures {
        let plane = height * width;
        if grey {
            for index in 0..self.labels.len() {
                one_plane(&mut self.pixels[index * 3 * plane..][..3 * plane], self.grey);
                self.pixels.copy_within(index * 3 * plane..index * 3 * plane + plane, index * plane);
            }
            self.pixels.truncate(self.labels.len() * plane);
        }
        self.pixels.shrink_to_fit();
        Pictures {
            path: root.into(),
            shape: Shape::Image { channels: if grey { 1 } else { 3 }, height, width },
            pixels: self.pixels,
            labels: self.labels,
            ids: Some(self.ids),
        }
    }
}

/// Writes a picture's greys over the first of its three planes. `alike`: all three are the greys already.
pub(super) fn one_plane(pixels: &mut [u8], alike: bool) {
    if alike {
        return;
    }
    let (red, others) = pixels.split_at_mut(pixels.len() / 3);
    let (green, blue) = others.split_at(red.len());
    for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
        let [r, g, b] = [*red, *green, *blue].map(u32::from);
        // The weights of ITU-R BT.709, as the decoder uses them for luma.
        *red = ((2126 * r + 7152 * g + 722 * b) / 10000) as u8;
    }
}
