//! From pictures, whatever the format, to training and test rows.

use crate::error::{DataError, Place, Result};
use crate::format::cifar::{self, Layout};
use crate::format::npz::Npz;
use crate::format::{arrays, digits, folder, idx, npy, parquet};
use crate::image::pictures::{Pictures, numbered};
use crate::io::Input;
use crate::io::{Tree, TreeFile};
use crate::load::{LoadOptions, Loaded, NewRows, Progress};
use crate::source::Builtin;
use crate::source::Found;
use crate::source::Origin;
use crate::source::recognise;
use crate::table::rules::Preparation;
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Shape};

const CLOTHES: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// What a reader of pictures found.
pub(crate) struct Parts {
    pub train: Pictures,
    pub test: Option<Pictures>,
    /// The classes, if the format names them.
    pub class_names: Option<Vec<String>>,
    /// Whether the training pictures came with labels.
    pub labelled: bool,
    pub notes: Vec<String>,
    pub skipped: Vec<(PathBuf, String)>,
}

impl Parts {
    fn of(train: Pictures, test: Option<Pictures>, class_names: Option<Vec<String>>) -> Self {
        Self { train, test, class_names, labelled: true, notes: Vec::new(), skipped: Vec::new() }
    }
}

pub(crate) fn load(
    origin: Origin,
    builtin: Option<Builtin>,
    options: &LoadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Loaded> {
    let mut parts = read(&origin, options, None, progress)?;
    let fixed = builtin.and_then(class_names);
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
    }
    let names = fixed.or(parts.class_names).unwrap_or_else(|| {
        let both: Vec<&Pictures> = [Some(&parts.train), parts.test.as_ref()].into_iter().flatten().collect();
        numbered(&both)
    });
    let path = parts.train.path.clone();
    let data = parts.train.into_dataset(&names)?;
    let test = parts.test.map(|test| test.into_dataset(&names)).transpose()?;
    let mut notes = parts.notes;
    let comes_with_test = test.is_some();
    let (train, test) = split(data, test, options, &path, &mut notes)?;
    let mut found = Found::new(origin.format(), &train, test.as_ref());
    found.files = origin.files();
    found.test_set_aside = test.is_some() && !comes_with_test;
    found.notes = notes;
    found.skipped = parts.skipped;
    let preparation = Preparation {
        format: origin.format(),
        class_names: names,
        row: train.shape().into(),
        bytes: true,
        table: None,
    };
    Ok(Loaded { train, test, found, preparation, origin })
}

pub(crate) fn load_with(
    origin: Origin,
    preparation: &Preparation,
    options: &LoadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<NewRows> {
    let shape = Shape::from(preparation.row);
    let names = &preparation.class_names;
    let mut parts = read(&origin, options, Some((shape, Some(names))), progress)?;
    same_shape(&parts.train.path, parts.train.shape, shape)?;
    // Folders that share no name with the classes are not labels: a folder of holiday pictures is one of new pictures.
    let known = |own: &Vec<String>| own.iter().any(|name| names.contains(name));
    parts.labelled &= parts.class_names.as_ref().is_none_or(known);
    if parts.labelled {
        align_classes(&mut parts, Some(names))?;
    } else {
        parts.train.labels.fill(0);
    }
    let data = parts.train.into_dataset(names)?;
    Ok(NewRows { data, labelled: parts.labelled, skipped: parts.skipped })
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

/// Reads the pictures of an origin. `like`: the shape and classes of training, for pictures that must be alike.
fn read(
    origin: &Origin,
    options: &LoadOptions,
    like: Option<(Shape, Option<&Vec<String>>)>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Parts> {
    let shape = like.map(|(shape, _)| shape);
    Ok(match origin {
        Origin::Digits => {
            let (train, test) = digits::read()?;
            Parts::of(train, Some(test), Some((0..10).map(|digit| digit.to_string()).collect()))
        }
        Origin::Idx(files) => {
            let pair =
                |(images, labels): &(PathBuf, PathBuf)| idx::read_pair(Input::open(images)?, Input::open(labels)?);
            let (train, test) = (pair(&files.train)?, files.test.as_ref().map(pair).transpose()?);
            if let Some(test) = &test {
                same_shape(&test.path, test.shape, train.shape)?;
            }
            Parts::of(train, test, None)
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
            Parts::of(train, test, Some(cifar::class_names(folder, layout)))
        }
        Origin::Folder { root, tiny } => {
            folder::read(Tree::open(root, folder::wanted)?, *tiny, options, shape, progress)?
        }
        Origin::Picture(path) => {
            let file = TreeFile::on_disk(path);
            let plan = folder::Plan {
                train: vec![(&file, 0)],
                test: Vec::new(),
                class_names: Vec::new(),
                labelled: false,
                notes: Vec::new(),
            };
            folder::decode(plan, path, Vec::new(), options, shape, progress)?
        }
        Origin::Parquet { train, test, .. } => parquet::pictures::read(train, test, options, shape, progress)?,
        Origin::Npy { files, .. } => {
            let array = |path: &PathBuf| npy::read(Input::open(path)?);
            let train = (array(&files.train.0)?, files.train.1.as_ref().map(array).transpose()?);
            let test = files.test.as_ref().map(|(x, y)| Ok::<_, DataError>((array(x)?, array(y)?))).transpose()?;
            from_arrays(train, test)?
        }
        Origin::Npz { path, names, .. } => {
            let mut npz = Npz::open(path)?;
            let labels = names.train.1.as_ref().map(|name| npz.array(name)).transpose()?;
            let train = (npz.array(&names.train.0)?, labels);
            let test = match &names.test {
                Some((x, y)) => Some((npz.array(x)?, npz.array(y)?)),
                None => None,
            };
            from_arrays(train, test)?
        }
        Origin::Csv { train, .. } => return Err(DataError::format(train, Place::File, "holds columns, not pictures")),
    })
}

/// Pictures and labels from arrays; without labels all are 0.
pub(crate) fn from_arrays(
    (features, labels): (npy::Array, Option<npy::Array>),
    test: Option<(npy::Array, npy::Array)>,
) -> Result<Parts> {
    let mut train = arrays::pictures(features)?;
    let rows = train.pixels.len() / train.shape.size().max(1);
    let Some(labels) = labels else {
        train.labels = vec![0; rows];
        return Ok(Parts { labelled: false, ..Parts::of(train, None, None) });
    };
    let (codes, levels) = arrays::labels(&labels, rows)?;
    let names = arrays::label_pictures(&mut train, &codes, &levels)?;
    let test = match test {
        None => None,
        Some((features, labels)) => {
            let mut test = arrays::pictures(features)?;
            same_shape(&test.path, test.shape, train.shape)?;
            let rows = test.pixels.len() / test.shape.size().max(1);
            let (codes, levels) = arrays::labels(&labels, rows)?;
            let own = arrays::label_pictures(&mut test, &codes, &levels)?;
            let mut part = Parts::of(test, None, Some(own));
            align_classes(&mut part, Some(&names))?;
            Some(part.train)
        }
    };
    Ok(Parts::of(train, test, Some(names)))
}

/// The classes of a built-in data set that its files don't name.
fn class_names(builtin: Builtin) -> Option<Vec<String>> {
    match builtin {
        Builtin::Mnist => Some((0..10).map(|digit| digit.to_string()).collect()),
        Builtin::FashionMnist => Some(CLOTHES.map(String::from).to_vec()),
        _ => None,
    }
}

fn same_shape(path: &Path, got: Shape, expected: Shape) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    let words = |shape| match shape {
        Shape::Image { channels, height, width } => format!("{channels}x{height}x{width}"),
        Shape::Flat(size) => format!("{size} numbers"),
    };
    let problem = format!("pictures are {}, but the training pictures are {}", words(got), words(expected));
    Err(DataError::format(path, Place::File, problem))
}

/// Renumbers labels from the part's own class names to the training classes.
fn align_classes(parts: &mut Parts, known: Option<&Vec<String>>) -> Result<()> {
    let (Some(known), Some(own)) = (known, &parts.class_names) else { return Ok(()) };
    if own == known {
        return Ok(());
    }
    let number = |name: &String| known.iter().position(|class| class == name).map(|class| class as u32);
    let map: Vec<Option<u32>> = own.iter().map(number).collect();
    for label in &mut parts.train.labels {
        *label = map.get(*label as usize).copied().flatten().ok_or_else(|| {
            let name = own.get(*label as usize).cloned().unwrap_or_else(|| label.to_string());
            let problem = format!("class \"{name}\" is not one of the {} classes of the training data", known.len());
            DataError::format(&parts.train.path, Place::File, problem)
        })?;
    }
    Ok(())
}
