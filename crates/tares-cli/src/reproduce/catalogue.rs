//! The recipes that are inside the program, and recipes of your own from a file.

use super::recipe::Recipe;
use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;
use tares_core::Error;

/// Name and text of every file in `recipes/`, listed by `build.rs`.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recipes.rs"));

/// The names of the built-in recipes: the paper's first, then those that go beyond it.
pub fn names() -> Vec<&'static str> {
    let beyond = |text: &str| Recipe::read(text).map_or(true, |recipe| recipe.paper.is_empty());
    let mut names: Vec<(bool, &str)> = BUILT_IN.iter().map(|(name, text)| (beyond(text), *name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

/// A recipe by its name, or from a file that ends in `.toml`; and what it is called.
///
/// # Errors
/// No such recipe (the known ones are listed), or a file that is not a recipe.
pub fn find(name: &str) -> Outcome<(String, Recipe)> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let recipe = Recipe::read(&read_text(path)?).map_err(|failure| failure.within(path.display()))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok((crate::files::file_name(&stem), recipe));
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((known, text)) => {
            let recipe = Recipe::read(text).map_err(|failure| failure.within(format!("recipes/{known}.toml")))?;
            Ok(((*known).to_owned(), recipe))
        }
        None => {
            let known = names();
            let unknown = Failure::from(Error::unknown("recipe", name, &known));
            Err(unknown
                .way_out(format!("known recipes: {}; your own recipe is a file that ends in .toml", known.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_can_be_read() {
        for name in names() {
            let (called, recipe) = find(name).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            assert_eq!(called, name);
            assert!(!recipe.about.is_empty() && !recipe.paper_scale.time.is_empty(), "{name}");
            assert!(recipe.paper_scale.deviations.is_empty(), "{name}: the paper's scale has no deviations");
        }
    }

    #[test]
    fn an_unknown_recipe_lists_the_known_ones() {
        let text = find("mnst").unwrap_err().to_string();
        assert!(names().iter().all(|name| text.contains(name)), "{text}");
    }
}
