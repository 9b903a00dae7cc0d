//! Which files a recipe needs, and which of them are nowhere on this machine.

use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::ui::failure::Failure;
use std::path::{Path, PathBuf};
use tares_data::{Source, cache_dir, locate};

/// The files of a recipe that are missing. A name without a folder belongs into the data set's own folder; `cifar-n/x.csv` into the
/// folder `cifar-n` of the data directory. Each may be plain or gzipped.
pub fn missing<'a>(recipe: &'a Recipe, size: RecipeSize, data_dir: Option<&Path>) -> Vec<&'a str> {
    let scale = recipe.scale(size);
    let roots = roots(data_dir);
    let own = own_folder(scale.data(recipe), data_dir);
    let is_there = |file: &str| {
        let folders = if file.contains('/') { roots.clone() } else { own.iter().cloned().collect() };
        folders.iter().any(|folder| folder.join(file).exists() || folder.join(format!("{file}.gz")).exists())
    };
    scale.files(recipe).iter().map(String::as_str).filter(|file| !is_there(file)).collect()
}

/// Exactly which files, and where to put them.
pub fn missing_failure(recipe: &Recipe, size: RecipeSize, files: &[&str], data_dir: Option<&Path>) -> Failure {
    let data = recipe.scale(size).data(recipe);
    let root = data_dir.map_or_else(|| "DIR".to_owned(), |root| root.display().to_string());
    let place = |file: &&str| match file.contains('/') {
        true => format!("{root}/{file}"),
        false => format!("{root}/{data}/{file}"),
    };
    let wanted: Vec<String> = files.iter().map(place).collect();
    Failure::new(format!("{}: data is missing: {}", recipe.title, wanted.join(", "))).way_out(format!(
        "put the files there, plain or gzipped, and name the directory with --data-dir DIR or TARES_DATA=DIR; \
         `tares data fetch {data}` downloads what can be downloaded; --subset runs with what is here"
    ))
}

fn roots(data_dir: Option<&Path>) -> Vec<PathBuf> {
    let environment = std::env::var_os("TARES_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
    [data_dir.map(Path::to_owned), environment, cache_dir()].into_iter().flatten().collect()
}

/// The folder of a built-in data set, where it is; of a path, the path itself.
fn own_folder(data: &str, data_dir: Option<&Path>) -> Option<PathBuf> {
    let Ok(source) = data.parse::<Source>();
    match source {
        Source::Builtin(builtin) => locate(builtin, data_dir).ok().flatten(),
        Source::Path(path) => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_file_is_named_with_its_place() {
        let place = tempfile::tempdir().unwrap();
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.data = place.path().join("own").display().to_string();
        recipe.files = vec!["train.bin".into(), "test.bin".into(), "people/labels.csv".into()];
        std::fs::create_dir_all(place.path().join("own")).unwrap();
        std::fs::write(place.path().join("own/train.bin.gz"), "").unwrap();
        assert_eq!(missing(&recipe, RecipeSize::Laptop, Some(place.path())), ["test.bin", "people/labels.csv"]);
        std::fs::create_dir_all(place.path().join("people")).unwrap();
        std::fs::write(place.path().join("people/labels.csv"), "").unwrap();
        assert_eq!(missing(&recipe, RecipeSize::Laptop, Some(place.path())), ["test.bin"]);
        recipe.data = "cifar-100".into();
        let text = missing_failure(&recipe, RecipeSize::Laptop, &["test.bin"], Some(Path::new("/data"))).to_string();
        assert!(text.contains("/data/cifar-100/test.bin") && text.contains("tares data fetch cifar-100"), "{text}");
    }
}
