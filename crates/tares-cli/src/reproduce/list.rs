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
    /// Its progress at laptop scale: `ran here`, `12 of 72 runs`, `ran on a part of the data`, `not yet: about 3 h`, `needs data: cifar-100`. Runs of other settings
    /// than the recipe's don't count.
    pub laptop: String,
    /// The same at the paper's scale.
    pub full: String,
}

/// All built-in recipes, with what is below `root`. Data is looked for in `data_dir` first.
///
/// # Errors
/// A recipe is invalid, or `data_dir` does not exist.
pub fn entries(root: &Path, data_dir: Option<&Path>) -> Outcome<Vec<ListedRecipe>> {
    let mut entries = Vec::new();
    for name in catalogue::names() {
        let (_, recipe) = catalogue::find(name)?;
        entries.push(ListedRecipe {
            name: name.to_owned(),
            paper: if recipe.paper.is_empty() { "beyond the paper".to_owned() } else { recipe.paper.join(", ") },
            title: recipe.title.clone(),
            laptop: state(root, data_dir, name, &recipe, RecipeSize::Laptop)?,
            full: state(root, data_dir, name, &recipe, RecipeSize::Paper)?,
        });
    }
    Ok(entries)
}

fn state(root: &Path, data_dir: Option<&Path>, name: &str, recipe: &Recipe, size: RecipeSize) -> Outcome<String> {
    let RunsDone { finished, other, all, on_a_part } =
        ReproductionPlace::new(root, name, size).progress(recipe, size)?;
    let scale = recipe.scale(size);
    let lacking = missing(recipe, size, data_dir)?;
    let part = if a_part_is_here(&lacking) { " (a part is here: --subset)" } else { "" };
    let on_what = if on_a_part { " on a part of the data" } else { "" };
    Ok(match finished {
        done if done == all => if on_a_part { "ran on a part of the data" } else { "ran here" }.to_owned(),
        done if other > 0 => format!("{done} of {all} runs{on_what}, and {other} with other settings"),
        0 if !lacking.is_empty() => format!("needs data: {}{part}", sets(&lacking).join(", ")),
        0 if size == RecipeSize::Paper => format!("needs a GPU: {}", scale.time),
        0 => format!("not yet: {}", scale.time),
        done => format!("{done} of {all} runs{on_what}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_json;
    use crate::record::made_up::made_up;
    use crate::run::runs::place;

    #[test]
    fn runs_with_a_part_of_the_data_are_not_those_of_the_whole() {
        let root = tempfile::tempdir().unwrap();
        let recipe = super::super::recipe::tests::recipe();
        let here = ReproductionPlace::new(root.path(), "made-up", RecipeSize::Laptop);
        let runs = recipe.laptop_scale.experiment(&recipe, &recipe.names(), None).unwrap().runs().unwrap();
        let mut manifest = made_up("A", "pair", 0.2, 1, 0.9).manifest;
        for missing in [&[][..], &["cifar-100/train.bin".to_owned()]] {
            manifest.data.missing_files = missing.to_vec();
            for spec in &runs {
                let run = place(&here.path, spec);
                std::fs::create_dir_all(&run).unwrap();
                std::fs::write(run.join("spec.toml"), spec.to_toml().unwrap()).unwrap();
                std::fs::write(run.join("manifest.json"), to_json(&manifest).unwrap()).unwrap();
            }
            let said = state(root.path(), None, "made-up", &recipe, RecipeSize::Laptop).unwrap();
            assert_eq!(said, if missing.is_empty() { "ran here" } else { "ran on a part of the data" });
        }
    }
}
