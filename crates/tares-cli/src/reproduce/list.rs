//! The list of recipes and their progress.

use super::catalogue;
use super::needed_files::missing;
use super::place::{ReproductionPlace, RunsDone};
use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::record::in_order;
use crate::ui::failure::Outcome;
use serde::Serialize;
use std::path::Path;

/// A recipe in the list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedRecipe {
    /// Its name.
    pub name: String,
    /// The tables and figures it shows, or that it goes beyond the paper.
    pub paper: String,
    /// What it shows.
    pub title: String,
    /// Its progress at laptop scale: `ran here`, `12 of 72 runs`, `not yet: about 3 h`, `needs data: cifar-100`.
    pub laptop: String,
    /// The same at the paper's scale.
    pub full: String,
}

/// All built-in recipes, with what is below `root`.
///
/// # Errors
/// A recipe is invalid.
pub fn entries(root: &Path) -> Outcome<Vec<ListedRecipe>> {
    let mut entries = Vec::new();
    for name in catalogue::names() {
        let (_, recipe) = catalogue::find(name)?;
        entries.push(ListedRecipe {
            name: name.to_owned(),
            paper: if recipe.paper.is_empty() { "beyond the paper".to_owned() } else { recipe.paper.join(", ") },
            title: recipe.title.clone(),
            laptop: state(root, name, &recipe, RecipeSize::Laptop)?,
            full: state(root, name, &recipe, RecipeSize::Paper)?,
        });
    }
    Ok(entries)
}

fn state(root: &Path, name: &str, recipe: &Recipe, size: RecipeSize) -> Outcome<String> {
    let RunsDone { finished, all } = ReproductionPlace::new(root, name, size).progress(recipe, size)?;
    let scale = recipe.scale(size);
    let lacking = missing(recipe, size, None);
    Ok(match finished {
        done if done == all => "ran here".to_owned(),
        0 if !lacking.is_empty() => format!("needs data: {}", data_sets(&lacking, scale.data(recipe)).join(", ")),
        0 if size == RecipeSize::Paper => format!("needs a GPU: {}", scale.time),
        0 => format!("not yet: {}", scale.time),
        done => format!("{done} of {all} runs"),
    })
}

/// The data sets that missing files belong to; running the recipe names the files.
fn data_sets<'a>(files: &[&'a str], own: &'a str) -> Vec<&'a str> {
    in_order(files.iter().map(|file| file.split_once('/').map_or(own, |(folder, _)| folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_named_by_their_data_sets() {
        let files = ["train.bin", "test.bin", "cifar-n/labels.csv"];
        assert_eq!(data_sets(&files, "cifar-10"), ["cifar-10", "cifar-n"]);
    }
}
