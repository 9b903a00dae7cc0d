//! Folders of pictures: one folder per class, optionally inside `train/` and `test/` (or `val/`), and Tiny-ImageNet's layout.
//! The same inside a zip or tar archive. Pictures are decoded on all cores.

use crate::error::{DataError, Place, Result};
use crate::format::image;
use crate::image::Pictures;
use crate::image::rows::Parts;
use crate::io::{Tree, TreeFile};
use crate::load::{LoadOptions, Progress, Stage};
use crate::table::columns::{Dictionary, classes};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use tares_core::{Label, Shape};

const EXTENSIONS: [&str; 10] = ["jpg", "jpeg", "png", "gif", "bmp", "webp", "ppm", "pgm", "pbm", "pnm"];
/// Tiny-ImageNet's lists: classes, their names, and the classes of the test pictures.
const LISTS: [&str; 3] = ["wnids.txt", "words.txt", "val_annotations.txt"];
const TRAIN: [&str; 2] = ["train", "training"];
const TEST: [&str; 5] = ["test", "testing", "val", "valid", "validation"];

/// Pictures of different sizes, and large ones, become this high and wide unless a size is asked for.
pub const DEFAULT_SIZE: usize = 64;

/// Pictures with more pixels than this are made smaller unless a size is asked for.
const LARGEST: usize = 128 * 128;

/// Pictures are decoded in groups of this many, and progress is told in between.
const GROUP: usize = 256;

/// Which files to decode and what their folders mean.
pub(crate) struct Plan<'a> {
    pub train: Vec<(&'a TreeFile, Label)>,
    pub test: Vec<(&'a TreeFile, Label)>,
    pub class_names: Vec<String>,
    pub labelled: bool,
    pub notes: Vec<String>,
}

/// Reads a folder or archive of pictures. `like`: size, channels of the training pictures that these must match.
pub(crate) fn read(
    mut tree: Tree,
    tiny: bool,
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Parts> {
    tree.strip_top();
    let tiny = tiny || tree.file("wnids.txt").is_some();
    let plan = if tiny { tiny_imagenet(&tree)? } else { class_folders(&tree, like.is_some())? };
    let like = like.or(tiny.then_some(COLOUR));
    decode(plan, &tree.root, tree.refused.clone(), options, like, progress)
}

/// Stands for "colour, of any size".
const COLOUR: Shape = Shape::Image { channels: 3, height: 0, width: 0 };

/// Decodes the files of a plan on all cores. `problems`: files that could not even be opened.
pub(crate) fn decode(
    plan: Plan<'_>,
    root: &std::path::Path,
    mut problems: Vec<(PathBuf, String)>,
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Parts> {
    let root = root.to_owned();
    let files: Vec<&TreeFile> = plan.train.iter().chain(&plan.test).map(|(file, _)| *file).collect();
    let mut notes = plan.notes;
    let (height, width) = match (options.image_size, like) {
        (_, Some(Shape::Image { height, width, .. })) if height > 0 => (height, width),
        (Some((height, width)), _) if height == 0 || width == 0 || height * width > 1 << 24 => {
            let got = format!("{height}x{width}");
            return Err(tares_core::Error::value("image size", "from 1x1 to 16 million pixels", got).into());
        }
        (Some(size), _) => size,
        (None, _) => common_size(&files, &mut notes),
    };
    let colour = channels_of(like);
    let labels = |part: &[(&TreeFile, Label)]| part.iter().map(|(_, label)| *label).collect::<Vec<_>>();
    let total = files.len() as u64;
    let mut done = 0;
    let mut report = |count: usize| {
        done += count as u64;
        progress(Progress { stage: Stage::Decode, done, total: Some(total) });
    };
    let read_part = |part: &[(&TreeFile, Label)], problems: &mut Vec<_>, report: &mut dyn FnMut(usize)| {
        let files: Vec<&TreeFile> = part.iter().map(|(file, _)| *file).collect();
        decode_all(&files, labels(part), (height, width), problems, report)
    };
    let mut train = read_part(&plan.train, &mut problems, &mut report);
    let mut test = (!plan.test.is_empty()).then(|| read_part(&plan.test, &mut problems, &mut report));
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
    let finish = |part: Decoded| part.into_pictures(&root, (height, width), grey);
    Ok(Parts {
        test: test.take().filter(|test| !test.labels.is_empty()).map(finish),
        train: finish(std::mem::take(&mut train)),
        class_names: Some(plan.class_names),
        labelled: plan.labelled,
        notes,
        skipped: problems,
    })
}

fn channels_of(like: Option<Shape>) -> Option<bool> {
    match like {
        Some(Shape::Image { channels, .. }) => Some(channels == 3),
        _ => None,
    }
}

/// The files of a folder or archive that a data set is made of: pictures, and the lists of Tiny-ImageNet.
pub(crate) fn wanted(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_picture(path) || LISTS.contains(&name)
}

fn is_picture(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.iter().any(|known| end.eq_ignore_ascii_case(known)))
        && !path.starts_with("__MACOSX/")
}

/// Class folders, maybe below `train/` and `test/`. Pictures without a folder have no label and are only taken if that is fine.
fn class_folders(tree: &Tree, unlabelled_allowed: bool) -> Result<Plan<'_>> {
    let pictures: Vec<&TreeFile> = tree.files.iter().filter(|file| is_picture(&file.path)).collect();
    let bad = |problem: String| DataError::format(&tree.root, Place::File, problem);
    if pictures.is_empty() {
        return Err(bad("holds no pictures".into()));
    }
    let mut notes = Vec::new();
    let tops: BTreeSet<&str> = pictures.iter().filter_map(|file| Some(file.path.split_once('/')?.0)).collect();
    let called =
        |names: &[&str]| names.iter().find_map(|name| tops.iter().find(|top| top.eq_ignore_ascii_case(name)).copied());
    let (train_top, test_top) = (called(&TRAIN), called(&TEST));
    let split =
        train_top.is_some() && tops.iter().all(|top| TRAIN.iter().chain(&TEST).any(|n| top.eq_ignore_ascii_case(n)));
    let class_of = |path: &str| -> Option<(bool, String)> {
        let (top, below) = path.split_once('/')?;
        if !split {
            return Some((false, top.to_owned()));
        }
        let (class, _) = below.split_once('/')?;
        match Some(top) {
            top if top == train_top => Some((false, class.to_owned())),
            top if top == test_top => Some((true, class.to_owned())),
            _ => None,
        }
    };
    let found: Vec<(&TreeFile, Option<(bool, String)>)> =
        pictures.into_iter().map(|file| (file, class_of(&file.path))).collect();
    let homeless = found.iter().filter(|(_, class)| class.is_none()).count();
    if homeless == found.len() {
        if unlabelled_allowed {
            let train = found.iter().map(|(file, _)| (*file, 0)).collect();
            let class_names = Vec::new();
            return Ok(Plan { train, test: Vec::new(), class_names, labelled: false, notes });
        }
        return Err(bad("holds pictures but no class folders (one folder per class is needed)".into()));
    }
    if homeless > 0 {
        notes.push(format!("{homeless} pictures outside the class folders were left out"));
    }
    let mut names = Dictionary::default();
    found.iter().filter_map(|(_, class)| class.as_ref()).for_each(|(_, class)| names.push(class));
    let (codes, levels) = names.into_parts();
    let class_names = classes(&codes, &levels);
    if class_names.len() < 2 && !unlabelled_allowed {
        return Err(bad(format!("holds only one class (\"{}\"), at least 2 are needed", class_names[0])));
    }
    let number: HashMap<&str, Label> =
        class_names.iter().enumerate().map(|(class, name)| (name.as_str(), class as Label)).collect();
    let part = |wanted: bool| {
        found
            .iter()
            .filter_map(|(file, class)| Some((*file, class.as_ref()?)))
            .filter(|(_, (test, _))| *test == wanted)
            .map(|(file, (_, class))| (file, number[class.as_str()]))
            .collect::<Vec<_>>()
    };
    let (train, test) = (part(false), part(true));
    if train.is_empty() {
        return Err(bad("holds no pictures to train on".into()));
    }
    Ok(Plan { train, test, class_names, labelled: true, notes })
}

/// `train/<wnid>/images/*.JPEG`, `val/images/*.JPEG` with `val/val_annotations.txt`, classes in the order of `wnids.txt`.
fn tiny_imagenet(tree: &Tree) -> Result<Plan<'_>> {
    let bad = |part: &str, problem: String| DataError::format(&tree.root, Place::Part(part.into()), problem);
    let text = |name: &str| -> Result<String> {
        let file = tree.file(name).ok_or_else(|| bad(name, "is missing".into()))?;
        let bytes = file.read().map_err(|why| bad(name, why))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let wnids: Vec<String> = text("wnids.txt")?.split_whitespace().map(str::to_owned).collect();
    let number: HashMap<&str, Label> =
        wnids.iter().enumerate().map(|(class, wnid)| (wnid.as_str(), class as Label)).collect();
    let annotations = text("val/val_annotations.txt").unwrap_or_default();
    let val: HashMap<&str, &str> = annotations
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?.trim()))
        })
        .collect();
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for file in tree.files.iter().filter(|file| is_picture(&file.path)) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let (wnid, is_train) = match parts[..] {
            ["train", wnid, "images", _] => (wnid, true),
            ["val", "images", name] => {
                (*val.get(name).ok_or_else(|| bad(&file.path, "is not in val/val_annotations.txt".into()))?, false)
            }
            ["val", wnid, .., _] => (wnid, false),
            _ => continue, // test pictures have no labels
        };
        let class = *number.get(wnid).ok_or_else(|| bad(&file.path, format!("class {wnid} is not in wnids.txt")))?;
        if is_train { train.push((file, class)) } else { test.push((file, class)) }
    }
    let words = text("words.txt").unwrap_or_default();
    let words: HashMap<&str, &str> =
        words.lines().filter_map(|line| line.split_once('\t')).map(|(wnid, names)| (wnid.trim(), names)).collect();
    let name = |wnid: &String| {
        words
            .get(wnid.as_str())
            .and_then(|names| names.split(',').next())
            .map_or(wnid.clone(), |name| name.trim().to_owned())
    };
    let mut class_names: Vec<String> = wnids.iter().map(name).collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    class_names.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
    // Two classes may share a word (a crane is a bird and a machine): then the number tells them apart.
    for (name, wnid) in class_names.iter_mut().zip(&wnids) {
        if counts[name.as_str()] > 1 {
            *name = format!("{name} ({wnid})");
        }
    }
    Ok(Plan { train, test, class_names, labelled: true, notes: Vec::new() })
}

/// The size all pictures have, if they have one and it is small; else the default.
fn common_size(files: &[&TreeFile], notes: &mut Vec<String>) -> (usize, usize) {
    let sizes: BTreeSet<(usize, usize)> =
        files.par_iter().filter_map(|file| image::dimensions(&file.read().ok()?).ok()).collect();
    let same = (sizes.len() == 1).then(|| sizes.first().copied()).flatten();
    match same {
        Some((height, width)) if height * width <= LARGEST => (height, width),
        _ => {
            let why = if same.is_some() { "are large" } else { "have different sizes" };
            notes.push(format!("pictures {why}: all became {DEFAULT_SIZE}x{DEFAULT_SIZE} (option image-size)"));
            (DEFAULT_SIZE, DEFAULT_SIZE)
        }
    }
}

/// Pictures with three planes each.
#[derive(Default)]
struct Decoded {
    pixels: Vec<u8>,
    labels: Vec<Label>,
    ids: Vec<String>,
    grey: bool,
}

fn decode_all(
    files: &[&TreeFile],
    labels: Vec<Label>,
    (height, width): (usize, usize),
    problems: &mut Vec<(PathBuf, String)>,
    report: &mut dyn FnMut(usize),
) -> Decoded {
    let size = 3 * height * width;
    let mut decoded = Decoded { grey: true, pixels: Vec::with_capacity(files.len() * size), ..Decoded::default() };
    let mut group_pixels = vec![0; GROUP.min(files.len()) * size];
    for (files, labels) in files.chunks(GROUP).zip(labels.chunks(GROUP)) {
        let outcomes: Vec<std::result::Result<bool, String>> = files
            .par_iter()
            .zip(group_pixels.par_chunks_mut(size))
            .map(|(file, out)| {
                let picture = image::decode(&file.read()?)?;
                picture.write(height, width, out);
                Ok(picture.grey)
            })
            .collect();
        for (((outcome, file), label), pixels) in
            outcomes.into_iter().zip(files).zip(labels).zip(group_pixels.chunks(size))
        {
            match outcome {
                Ok(grey) => {
                    decoded.grey &= grey;
                    decoded.pixels.extend_from_slice(pixels);
                    decoded.labels.push(*label);
                    decoded.ids.push(file.path.clone());
                }
                Err(why) => problems.push((file.path.clone().into(), why)),
            }
        }
        report(files.len());
    }
    decoded
}

impl Decoded {
    fn into_pictures(mut self, root: &std::path::Path, (height, width): (usize, usize), grey: bool) -> Pictures {
        let plane = height * width;
        if grey && self.grey {
            // All three planes of a grey picture are alike: keep the first.
            for index in 0..self.labels.len() {
                self.pixels.copy_within(index * 3 * plane..index * 3 * plane + plane, index * plane);
            }
            self.pixels.truncate(self.labels.len() * plane);
        } else if grey {
            for index in 0..self.labels.len() {
                for at in 0..plane {
                    let channel = |channel: usize| u32::from(self.pixels[index * 3 * plane + channel * plane + at]);
                    // The weights of ITU-R BT.709, as the decoder uses them for luma.
                    let luma = (2126 * channel(0) + 7152 * channel(1) + 722 * channel(2)) / 10000;
                    self.pixels[index * plane + at] = luma as u8;
                }
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
