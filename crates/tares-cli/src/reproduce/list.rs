//! The list of recipes and their progress.

use super::catalogue;
use super::needed_files::{a_part_is_here, missing, sets};
use super::place::{ReproductionPlace, RunsDone};
use super::recipe::Recipe;
use super::scale::RecipeSize;
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
    /// Its progress at laptop scale: `ran here`, `12 of 72 runs`, `not yet: about 3 h`, `needs data: cifar-100`. Runs of other settings
    /// than the recipe's don't count.
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
    let RunsDone { finished, other, all } = ReproductionPlace::new(root, name, size).progress(recipe, size)?;
    let scale = recipe.scale(size);
    let lacking = missing(recipe, size, None);
    let part = if a_part_is_here(&lacking) { " (a part is here: --subset)" } else { "" };
    Ok(match finished {
        done if done == all => "ran here".to_owned(),
        done if other > 0 => format!("{done} of {all} runs, and {other} with other settings"),
        0 if !lacking.is_empty() => format!("needs data: {}{part}", sets(&lacking).join(", ")),
        0 if size == RecipeSize::Paper => format!("needs a GPU: {}", scale.time),
        0 => format!("not yet: {}", scale.time),
        done => format!("{done} of {all} runs"),
    })
}
