//! Which files a recipe needs, and which of them are nowhere on this machine.

use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::record::in_order;
use crate::ui::failure::{Failure, Outcome};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use tares_data::{Builtin, Source, data_roots, locate};

/// A file that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// The data set or folder that it belongs to: `cifar-100`, `cifar-n`.
    pub set: String,
    /// Its name there.
    pub name: String,
    /// Where that data set is, if a part of it is here.
    pub folder: Option<PathBuf>,
}

impl fmt::Display for MissingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.set, self.name)
    }
}

/// The files of a recipe that are missing. A name without a folder belongs to the recipe's own data set; `cifar-n/x.csv` to the data set
/// `cifar-n`, or the folder of that name. Each may be plain or gzipped.
///
/// # Errors
/// `data_dir` does not exist.
pub fn missing(recipe: &Recipe, size: RecipeSize, data_dir: Option<&Path>) -> Outcome<Vec<MissingFile>> {
    let scale = recipe.scale(size);
    let mut missing = Vec::new();
    for file in scale.files(recipe) {
        let (set, name) = file.split_once('/').unwrap_or((scale.data(recipe), file));
        let folders = folders(set, data_dir)?;
        if !folders.iter().any(|folder| holds(folder, name)) {
            let folder = folders.into_iter().find(|folder| folder.is_dir());
            missing.push(MissingFile { set: set.to_owned(), name: name.to_owned(), folder });
        }
    }
    Ok(missing)
}

/// What is not as published where files are missing, named with their data sets.
pub fn a_part_of_the_data(missing: &[String]) -> String {
    format!("a part of the data, for these files are missing: {}", missing.join(", "))
}

/// The data sets that missing files belong to.
pub fn sets(files: &[MissingFile]) -> Vec<&str> {
    in_order(files.iter().map(|file| file.set.as_str()))
}

/// Exactly which files, and where to put them.
pub fn missing_failure(recipe: &Recipe, files: &[MissingFile], data_dir: Option<&Path>) -> Failure {
    let root = data_roots(data_dir).into_iter().find(|root| root.is_dir() && is_named(root, data_dir));
    let place = |file: &MissingFile| match (&file.folder, &root) {
        (Some(folder), _) => folder.join(&file.name),
        (None, Some(root)) => root.join(&file.set).join(&file.name),
        (None, None) => Path::new("DIR").join(&file.set).join(&file.name),
    };
    let wanted: Vec<String> = files.iter().map(|file| place(file).display().to_string()).collect();
    let mut way_out = "put the files there, plain or gzipped".to_owned();
    if root.is_none() {
        way_out.push_str(", and name the directory with --data-dir DIR or TARES_DATA=DIR");
    }
    let built_in: Vec<&str> = sets(files).into_iter().filter(|set| set.parse::<Builtin>().is_ok()).collect();
    if !built_in.is_empty() {
        let commands: Vec<String> = built_in.iter().map(|set| format!("`tares data fetch {set}`")).collect();
        way_out.push_str(&format!("; {} downloads what can be downloaded", commands.join(", ")));
    }
    if a_part_is_here(files) {
        way_out.push_str("; --subset runs with the part that is here");
    }
    Failure::new(format!("{}: data is missing: {}", recipe.title, wanted.join(", "))).way_out(way_out)
}

/// Whether a part of every data set that lacks a file is here, so that `--subset` can run.
pub fn a_part_is_here(files: &[MissingFile]) -> bool {
    let is_part = |file: &MissingFile| file.set.parse::<Builtin>().is_ok() && file.folder.is_some();
    !files.is_empty() && files.iter().all(is_part)
}

/// Whether the user named this directory: nobody puts files into a cache by hand.
fn is_named(root: &Path, data_dir: Option<&Path>) -> bool {
    data_dir == Some(root) || std::env::var_os("TARES_DATA").is_some_and(|named| Path::new(&named) == root)
}

/// Where the files of a data set may be: for a built-in one, where the program finds it; of a path, the path itself; else the folders
/// of that name.
fn folders(set: &str, data_dir: Option<&Path>) -> Outcome<Vec<PathBuf>> {
    let Ok(source) = set.parse::<Source>();
    Ok(match source {
        Source::Builtin(builtin) => locate(builtin, data_dir)?.into_iter().collect(),
        Source::Path(path) if path.is_absolute() || path.exists() => vec![path],
        Source::Path(path) => data_roots(data_dir).into_iter().map(|root| root.join(&path)).collect(),
    })
}

fn holds(folder: &Path, name: &str) -> bool {
    let is_there = |name: &str| folder.join(name).exists() || folder.join(format!("{name}.gz")).exists();
    // The archive of Tiny-ImageNet may be unpacked or packed otherwise.
    let same = match name {
        "tiny-imagenet-200.zip" => {
            ["tiny-imagenet-200.tar", "tiny-imagenet-200.tgz"].into_iter().any(is_there)
                || ["", "tiny-imagenet-200"].iter().any(|inner| is_whole_tiny_imagenet(&folder.join(inner)))
        }
        _ => false,
    };
    is_there(name) || same
}

/// Whether an unpacked Tiny-ImageNet has a training folder for each of its classes: a subset has fewer.
fn is_whole_tiny_imagenet(folder: &Path) -> bool {
    const CLASSES: usize = 200;
    let listed = fs::read_to_string(folder.join("wnids.txt")).unwrap_or_default();
    let here = |class: &&str| folder.join("train").join(class.trim()).is_dir();
    listed.lines().filter(here).count() >= CLASSES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[MissingFile]) -> Vec<&str> {
        files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn every_missing_file_is_named_with_its_place() {
        let place = tempfile::tempdir().unwrap();
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.data = place.path().join("own").display().to_string();
        recipe.files = vec!["train.bin".into(), "test.bin".into(), "people/labels.csv".into()];
        fs::create_dir_all(place.path().join("own")).unwrap();
        fs::write(place.path().join("own/train.bin.gz"), "").unwrap();
        let lacking = || missing(&recipe, RecipeSize::Laptop, Some(place.path())).unwrap();
        assert_eq!(names(&lacking()), ["test.bin", "labels.csv"]);
        fs::create_dir_all(place.path().join("people")).unwrap();
        fs::write(place.path().join("people/labels.csv"), "").unwrap();
        assert_eq!(names(&lacking()), ["test.bin"]);
        let text = missing_failure(&recipe, &lacking(), Some(place.path())).to_string();
        assert!(text.contains(&place.path().join("own/test.bin").display().to_string()), "{text}");
    }

    #[test]
    fn data_sets_that_are_named_are_found_where_the_program_finds_them() {
        let place = tempfile::tempdir().unwrap();
        let write = |file: &str| {
            let file = place.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, vec![0; 3074]).unwrap();
        };
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.files = vec!["cifar-100/train.bin".into(), "tiny-imagenet/tiny-imagenet-200.zip".into()];
        let lacking = || missing(&recipe, RecipeSize::Laptop, Some(place.path())).unwrap();
        // The folder's name in the published archive.
        write("cifar-100-binary/train.bin");
        write("cifar-100-binary/test.bin");
        assert_eq!(names(&lacking()), ["tiny-imagenet-200.zip"]);
        let text = missing_failure(&recipe, &lacking(), Some(place.path())).to_string();
        let file = place.path().join("tiny-imagenet/tiny-imagenet-200.zip");
        assert!(text.contains(&file.display().to_string()), "{text}");
        assert!(text.contains("tares data fetch tiny-imagenet") && !text.contains("fetch digits"), "{text}");
        assert!(!text.contains("--subset") && !text.contains("TARES_DATA"), "{text}");
        // Unpacked: a part of the classes, then all.
        let classes: Vec<String> = (0..200).map(|class| format!("n{class:08}")).collect();
        let root = place.path().join("tiny-imagenet-200");
        fs::create_dir_all(root.join("train").join(&classes[0])).unwrap();
        fs::write(root.join("wnids.txt"), classes.join("\n")).unwrap();
        assert_eq!(names(&lacking()), ["tiny-imagenet-200.zip"]);
        assert!(missing_failure(&recipe, &lacking(), None).to_string().contains("--subset runs with the part"));
        classes.iter().for_each(|class| fs::create_dir_all(root.join("train").join(class)).unwrap());
        assert_eq!(lacking(), []);
    }
}
