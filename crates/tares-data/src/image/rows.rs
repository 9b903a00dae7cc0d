//! From pictures, whatever the format, to training and test rows.

use crate::error::{DataError, Place, Result};
use crate::format::cifar::{self, Layout};
use crate::format::folder::{self, LabelledFiles};
use crate::format::npz::Npz;
use crate::format::parquet::pictures::PictureSplit;
use crate::format::picture_list::PictureList;
use crate::format::{arrays, digits, idx, npy};
use crate::image::decode::{COLOUR, decode};
use crate::image::describe::{SharedDescriber, describe_pixels};
use crate::image::pictures::{Pictures, numbered};
use crate::io::{Input, Tree, TreeFile};
use crate::load::{LoadOptions, Loaded, NewRows, ReadProgress};
use crate::reading::Reading;
use crate::source::{Builtin, Found, Origin, recognise};
use crate::table::labels::LabelColumn;
use std::path::{Path, PathBuf};
use tares_core::estimate::NO_LABEL;
use tares_core::{Arrivals, Dataset, Label, Shape};

/// The shape of pictures that are not shown.
const THUMBNAIL: Shape = Shape::Image { channels: 3, height: 8, width: 8 };

/// What a reader of pictures found.
pub(crate) struct PictureParts {
    pub train: Pictures,
    pub test: Option<Pictures>,
    /// The rows of both parts that are still being decoded, in place of their pixels.
    pub arriving: [Option<Arrivals>; 2],
    /// The classes, if the format names them.
    pub class_names: Option<Vec<String>>,
    /// Whether the training pictures came with labels.
    pub labelled: bool,
    /// What the describer made of the pictures of both parts, one row each.
    pub features: Option<(Vec<f32>, Vec<f32>)>,
    pub notes: Vec<String>,
    /// What should be looked at in the labels.
    pub column_notes: Vec<String>,
    pub skipped: Vec<(PathBuf, String)>,
}

impl PictureParts {
    fn of(train: Pictures, test: Option<Pictures>, class_names: Option<Vec<String>>) -> Self {
        Self {
            train,
            test,
            arriving: [None, None],
            class_names,
            labelled: true,
            features: None,
            notes: Vec::new(),
            column_notes: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

pub(crate) fn load(
    origin: Origin,
    builtin: Option<Builtin>,
    options: &LoadOptions,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<Loaded> {
    let mut parts = read(&origin, options, None, progress)?;
    let fixed = builtin.and_then(Builtin::class_names);
    if let Some(path) = &options.test {
        let other = recognise::recognise(path, options)?;
        let known = fixed.as_ref().or(parts.class_names.as_ref());
        let mut other = read(&other, options, Some((parts.train.shape, known)), progress)?;
        same_shape(path, other.train.shape, parts.train.shape)?;
        if !other.labelled {
            return Err(DataError::format(path, Place::File, "has no labels"));
        }
        align_classes(&mut other, known)?;
        parts.skipped.append(&mut other.skipped);
        parts.test = Some(other.train);
        parts.arriving[1] = other.arriving[0].take();
        if let (Some((_, test)), Some((described, _))) = (&mut parts.features, other.features) {
            *test = described;
        }
    }
    if let Some(classes) = &options.classes {
        parts.train.labels.fill(0);
        parts.test = None;
        parts.features.iter_mut().for_each(|(_, test)| test.clear());
        (parts.class_names, parts.labelled) = (Some(classes.clone()), true);
    }
    let (labelled, unlabelled) = by_label(&mut parts.train.labels);
    let tested = parts.test.as_mut().map(|test| by_label(&mut test.labels).0);
    let names = fixed.filter(|_| options.classes.is_none()).or(parts.class_names).unwrap_or_else(|| {
        let both: Vec<&Pictures> = [Some(&parts.train), parts.test.as_ref()].into_iter().flatten().collect();
        numbered(&both)
    });
    let path = parts.train.path.clone();
    let some = |data: Dataset, rows: &[usize]| match rows.len() == data.len() {
        true => Ok(data),
        false => data.subset(rows).map_err(|source| DataError::content(&path, source)),
    };
    let [train_rows, test_rows] = parts.arriving;
    let all = parts.train.into_dataset_of(train_rows, &names)?;
    if !unlabelled.is_empty() {
        let note = "have no label: they take no part in training, testing or audit";
        parts.column_notes.push(format!("{} pictures {note}", unlabelled.len()));
    }
    let rest = if unlabelled.is_empty() { None } else { Some(some(all.clone(), &unlabelled)?) };
    let data = some(all, &labelled)?;
    let test = match (parts.test, tested) {
        (Some(test), Some(rows)) => Some(some(test.into_dataset_of(test_rows, &names)?, &rows)?),
        _ => None,
    };
    let mut notes = parts.notes;
    let comes_with_test = test.is_some();
    let (train, test) = split(data, test, options, &path, &mut notes)?;
    let mut found = Found::new(origin.format(), &train, test.as_ref());
    found.files = origin.files();
    found.test_set_aside = test.is_some() && !comes_with_test;
    found.notes = notes;
    found.column_notes = parts.column_notes;
    found.skipped = parts.skipped;
    let reading = Reading {
        format: origin.format(),
        class_names: names,
        row: train.shape().into(),
        bytes: true,
        table: None,
        features: None,
    };
    let loaded = Loaded { train, test, unlabelled: rest, found, reading, shown: None, origin };
    match (parts.features, &options.describer) {
        (Some((mut all, test)), Some(describer)) => {
            all.extend(test);
            loaded.with_features(all, describer.0.width()).map_err(|source| DataError::content(path, source))
        }
        _ => Ok(loaded),
    }
}

pub(crate) fn load_with(
    origin: Origin,
    reading: &Reading,
    options: &LoadOptions,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<NewRows> {
    // Features that replace the rows don't depend on the size of pictures, and new pictures are not shown.
    let described = reading.features.is_some();
    let shape = if described { THUMBNAIL } else { Shape::from(reading.row) };
    let names = &reading.class_names;
    let mut parts = read(&origin, options, Some((shape, Some(names))), progress)?;
    if !described {
        same_shape(&parts.train.path, parts.train.shape, shape)?;
    }
    // Folders that share no name with the classes are not labels: a folder of holiday pictures is one of new pictures.
    let known = |own: &Vec<String>| own.iter().any(|name| names.contains(name));
    parts.labelled &= parts.class_names.as_ref().is_none_or(known);
    if parts.labelled {
        align_classes(&mut parts, Some(names))?;
    } else {
        parts.train.labels.fill(NO_LABEL);
    }
    let labels = parts.train.labels.iter().map(|&label| (label != NO_LABEL).then_some(label)).collect();
    by_label(&mut parts.train.labels);
    let path = parts.train.path.clone();
    let [rows, _] = parts.arriving;
    let mut data = parts.train.into_dataset_of(rows, names)?;
    if let (Some((features, _)), Some(describer)) = (parts.features, &options.describer) {
        let shape = Shape::Flat(describer.0.width());
        data = data.with_features(features, shape).map_err(|source| DataError::content(path, source))?;
    }
    Ok(NewRows { data, labels, notes: Vec::new(), skipped: parts.skipped })
}

/// The rows with a label and those without one, whose labels become 0.
fn by_label(labels: &mut [Label]) -> (Vec<usize>, Vec<usize>) {
    let parts = (0..labels.len()).partition(|&row| labels[row] != NO_LABEL);
    labels.iter_mut().filter(|label| **label == NO_LABEL).for_each(|label| *label = 0);
    parts
}

/// Keeps the given test part, or takes one out of the rows.
pub(crate) fn split(
    data: Dataset,
    test: Option<Dataset>,
    options: &LoadOptions,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<(Dataset, Option<Dataset>)> {
    if test.is_some() || options.test_fraction == 0.0 {
        return Ok((data, test));
    }
    let (fraction, seed) = (options.test_fraction, options.seed);
    let (train, test) = data.split(fraction, seed).map_err(|source| DataError::content(path, source))?;
    notes.push(format!("no test part came with the data: {fraction} of every class was set aside (seed {seed})"));
    Ok((train, Some(test)))
}

/// Reads the pictures of an origin, and describes them if that is asked for. `like`: the shape and classes of training, for
/// pictures that must be alike.
fn read(
    origin: &Origin,
    options: &LoadOptions,
    like: Option<(Shape, Option<&Vec<String>>)>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    let mut parts = read_pixels(origin, options, like, progress)?;
    // Files are described while they are decoded.
    if let (Some(SharedDescriber(describer)), None) = (&options.describer, &parts.features) {
        let train = describe_pixels(&parts.train, describer.as_ref(), progress)?;
        let test = parts.test.as_ref().map(|test| describe_pixels(test, describer.as_ref(), progress)).transpose()?;
        parts.features = Some((train, test.unwrap_or_default()));
    }
    Ok(parts)
}

fn read_pixels(
    origin: &Origin,
    options: &LoadOptions,
    like: Option<(Shape, Option<&Vec<String>>)>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    let shape = like.map(|(shape, _)| shape);
    Ok(match origin {
        Origin::Digits => {
            let (train, test) = digits::read()?;
            PictureParts::of(train, Some(test), Builtin::Digits.class_names())
        }
        Origin::Idx(files) => {
            let pair =
                |(images, labels): &(PathBuf, PathBuf)| idx::read_pair(Input::open(images)?, Input::open(labels)?);
            let (train, test) = (pair(&files.train)?, files.test.as_ref().map(pair).transpose()?);
            if let Some(test) = &test {
                same_shape(&test.path, test.shape, train.shape)?;
            }
            PictureParts::of(train, test, None)
        }
        Origin::Cifar(files) => {
            let layout = match files.layout {
                Layout::Ten => Layout::Ten,
                _ if options.coarse => Layout::Coarse,
                _ => Layout::Fine,
            };
            let open = |paths: &[PathBuf]| paths.iter().map(Input::open).collect::<Result<Vec<_>>>();
            let train = cifar::read(open(&files.train)?, layout)?;
            let test = files.test.as_ref().map(|test| cifar::read(vec![Input::open(test)?], layout)).transpose()?;
            let folder = files.train[0].parent().unwrap_or(Path::new(""));
            PictureParts::of(train, test, Some(cifar::class_names(folder, layout)))
        }
        Origin::Folder { root, tiny } => from_tree(Tree::open(root, folder::wanted)?, *tiny, options, shape, progress)?,
        Origin::PictureList(list) => from_list(list, options, shape, progress)?,
        Origin::Picture(path) => {
            let file = TreeFile::on_disk(path);
            decode(LabelledFiles::unlabelled([&file]), path, Vec::new(), options, shape, progress)?
        }
        Origin::Parquet { train, test, .. } => from_parquet(train, test, options, shape, progress)?,
        Origin::Npy { files, .. } => {
            let array = |path: &PathBuf| npy::read(Input::open(path)?);
            let train = (array(&files.train.0)?, files.train.1.as_ref().map(array).transpose()?);
            let test = files.test.as_ref().map(|(x, y)| Ok::<_, DataError>((array(x)?, array(y)?))).transpose()?;
            from_arrays(train, test, like.is_none())?
        }
        Origin::Npz { path, names, .. } => {
            let mut npz = Npz::open(path)?;
            let labels = names.train.1.as_ref().map(|name| npz.array(name)).transpose()?;
            let train = (npz.array(&names.train.0)?, labels);
            let test = match &names.test {
                Some((x, y)) => Some((npz.array(x)?, npz.array(y)?)),
                None => None,
            };
            from_arrays(train, test, like.is_none())?
        }
        Origin::Csv { train, .. } | Origin::Jsonl { train, .. } => {
            return Err(DataError::format(train, Place::File, "holds columns, not pictures"));
        }
    })
}

/// Pictures and labels from arrays; without labels all are 0. Labels to train on are checked.
pub(crate) fn from_arrays(
    (features, labels): (npy::Array, Option<npy::Array>),
    test: Option<(npy::Array, npy::Array)>,
    training: bool,
) -> Result<PictureParts> {
    let mut train = arrays::pictures(features)?;
    let rows = train.pixels.len() / train.shape.size().max(1);
    let Some(labels) = labels else {
        train.labels = vec![0; rows];
        return Ok(PictureParts { labelled: false, ..PictureParts::of(train, None, None) });
    };
    let column = arrays::labels(&labels, rows)?;
    let column_notes = if training { column.check(&train.path)? } else { Vec::new() };
    let names = column.classes();
    train.labels = number(&column, &train.path, &names)?;
    let test = match test {
        None => None,
        Some((features, labels)) => {
            let mut test = arrays::pictures(features)?;
            same_shape(&test.path, test.shape, train.shape)?;
            let rows = test.pixels.len() / test.shape.size().max(1);
            test.labels = number(&arrays::labels(&labels, rows)?, &test.path, &names)?;
            Some(test)
        }
    };
    Ok(PictureParts { column_notes, ..PictureParts::of(train, test, Some(names)) })
}

/// The number of every picture's class.
fn number(column: &LabelColumn, path: &Path, names: &[String]) -> Result<Vec<Label>> {
    column.labels(path, names, &|row| Place::Row(row as u64))
}

/// Pictures of a folder or archive. `like`: the shape of the training pictures, which these must match.
pub(crate) fn from_tree(
    mut tree: Tree,
    tiny: bool,
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    tree.strip_top();
    let tiny = tiny || tree.file("wnids.txt").is_some();
    let files = if tiny {
        folder::tiny_imagenet(&tree)?
    } else {
        folder::class_folders(&tree, like.is_some() || options.classes.is_some())?
    };
    let like = like.or(tiny.then_some(COLOUR));
    decode(files, &tree.root, tree.refused.clone(), options, like, progress)
}

/// Pictures that a list names.
fn from_list(
    list: &PictureList,
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    let listed = list.read(like.is_none())?;
    let (files, column_notes) = listed.labelled(like.is_none())?;
    let missing = listed.missing();
    if !missing.is_empty() && !options.skip_unreadable {
        return Err(DataError::Unreadable { root: list.path.clone(), files: missing });
    }
    Ok(PictureParts { column_notes, ..decode(files, &list.path, missing, options, like, progress)? })
}

/// Pictures and labels of Parquet files.
fn from_parquet(
    train: &[PathBuf],
    test: &[PathBuf],
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<PictureParts> {
    let root = &train[0];
    let label = options.label.as_deref();
    let train = PictureSplit::read(train, label, like.is_none())?;
    let test = if test.is_empty() { None } else { Some(PictureSplit::read(test, label, true)?) };
    let Some(column) = &train.labels else {
        return decode(LabelledFiles::unlabelled(&train.files), root, Vec::new(), options, like, progress);
    };
    let class_names = train.names.clone().unwrap_or_else(|| column.classes());
    let check = like.is_none() && train.names.is_none();
    let column_notes = if check { column.check(root)? } else { Vec::new() };
    let numbered = |split: &PictureSplit| match &split.labels {
        Some(column) => number(column, root, &class_names),
        None => Err(DataError::format(root, Place::File, "has no labels")),
    };
    let train_labels = numbered(&train)?;
    let test_labels = test.as_ref().map(numbered).transpose()?;
    let files = LabelledFiles {
        train: train.files.iter().zip(train_labels).collect(),
        test: test.iter().flat_map(|test| &test.files).zip(test_labels.unwrap_or_default()).collect(),
        class_names,
        labelled: true,
        notes: Vec::new(),
    };
    Ok(PictureParts { column_notes, ..decode(files, root, Vec::new(), options, like, progress)? })
}

fn same_shape(path: &Path, got: Shape, expected: Shape) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    let words = |shape| match shape {
        Shape::Image { channels, height, width } => format!("{channels}x{height}x{width}"),
        Shape::Flat(1) => "1 number".to_owned(),
        Shape::Flat(size) => format!("{size} numbers"),
    };
    let problem = format!("pictures are {}, but the training pictures are {}", words(got), words(expected));
    Err(DataError::format(path, Place::File, problem))
}

/// Renumbers labels from the part's own class names to the training classes.
fn align_classes(parts: &mut PictureParts, known: Option<&Vec<String>>) -> Result<()> {
    let (Some(known), Some(own)) = (known, &parts.class_names) else { return Ok(()) };
    if own == known {
        return Ok(());
    }
    let number = |name: &String| known.iter().position(|class| class == name).map(|class| class as u32);
    let map: Vec<Option<u32>> = own.iter().map(number).collect();
    for label in parts.train.labels.iter_mut().filter(|label| **label != NO_LABEL) {
        *label = map.get(*label as usize).copied().flatten().ok_or_else(|| {
            let name = own.get(*label as usize).cloned().unwrap_or_else(|| label.to_string());
            let problem = format!("class \"{name}\" is not one of the {} classes of the training data", known.len());
            DataError::format(&parts.train.path, Place::File, problem)
        })?;
    }
    Ok(())
}
