//! Folders of pictures: one folder per class, optionally inside `train/` and `test/` (or `val/`), and Tiny-ImageNet's layout.
//! The same inside a zip or tar archive. Says which files are pictures and what their labels are; nothing is decoded here.

use crate::error::{DataError, Place, Result};
use crate::io::{Tree, TreeFile};
use crate::table::columns::Dictionary;
use crate::table::labels::LabelColumn;
use std::collections::{BTreeSet, HashMap};
use tares_core::Label;

const EXTENSIONS: [&str; 10] = ["jpg", "jpeg", "png", "gif", "bmp", "webp", "ppm", "pgm", "pbm", "pnm"];
/// Tiny-ImageNet's lists: classes, their names, and the classes of the test pictures.
const LISTS: [&str; 3] = ["wnids.txt", "words.txt", "val_annotations.txt"];
const TRAIN: [&str; 2] = ["train", "training"];
const TEST: [&str; 5] = ["test", "testing", "val", "valid", "validation"];

/// Picture files and their labels.
pub(crate) struct LabelledFiles<'a> {
    /// [`NO_LABEL`](tares_core::estimate::NO_LABEL) where a list of pictures has none for this one.
    pub train: Vec<(&'a TreeFile, Label)>,
    pub test: Vec<(&'a TreeFile, Label)>,
    pub class_names: Vec<String>,
    /// False if the labels mean nothing.
    pub labelled: bool,
    pub notes: Vec<String>,
}

impl<'a> LabelledFiles<'a> {
    /// Files without labels.
    pub fn unlabelled(files: impl IntoIterator<Item = &'a TreeFile>) -> Self {
        Self {
            train: files.into_iter().map(|file| (file, 0)).collect(),
            test: Vec::new(),
            class_names: Vec::new(),
            labelled: false,
            notes: Vec::new(),
        }
    }
}

/// The files of a folder or archive that a data set is made of: pictures, and the lists of Tiny-ImageNet.
pub(crate) fn wanted(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_picture(path) || LISTS.contains(&name)
}

pub(crate) fn is_picture(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.iter().any(|known| end.eq_ignore_ascii_case(known)))
        && !path.starts_with("__MACOSX/")
}

/// Class folders, maybe below `train/` and `test/`. Pictures without a folder have no label and are only taken if that is fine.
pub(crate) fn class_folders(tree: &Tree, unlabelled_allowed: bool) -> Result<LabelledFiles<'_>> {
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
            return Ok(LabelledFiles::unlabelled(found.into_iter().map(|(file, _)| file)));
        }
        return Err(bad("holds pictures but no class folders (one folder per class is needed)".into()));
    }
    if homeless > 0 {
        notes.push(format!("{homeless} pictures outside the class folders were left out"));
    }
    let mut names = Dictionary::default();
    found.iter().filter_map(|(_, class)| class.as_ref()).for_each(|(_, class)| names.push(class));
    let (codes, levels) = names.into_parts();
    let class_names = LabelColumn { name: "folder".into(), codes, levels, ..LabelColumn::default() }.classes();
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
    Ok(LabelledFiles { train, test, class_names, labelled: true, notes })
}

/// `train/<wnid>/images/*.JPEG`, `val/images/*.JPEG` with `val/val_annotations.txt`, classes in the order of `wnids.txt`.
pub(crate) fn tiny_imagenet(tree: &Tree) -> Result<LabelledFiles<'_>> {
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
    Ok(LabelledFiles { train, test, class_names, labelled: true, notes: Vec::new() })
}
