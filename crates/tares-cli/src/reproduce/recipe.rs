//! [`Recipe`]: one table or figure as a TOML file: what to run, what was published, what is claimed.
//!
//! Its comments say why; `recipes/README.md` says what each key means and how to add a recipe.

use super::claim::Claim;
use super::published::Published;
use super::scale::{RecipeSize, Scale};
use crate::run::contender::Contender;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::noise_rate::NoiseRate;
use crate::run::spec_file::{check_version, parse};
use crate::ui::failure::{Failure, Outcome};
use serde::Deserialize;
use tares_core::Error;

/// A table or figure: what to run, what was published, what is claimed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// The version of spec files, as in an experiment.
    pub version: u32,
    /// What it shows, in a few words.
    pub title: String,
    /// The tables and figures of the paper; empty for what goes beyond it.
    #[serde(default)]
    pub paper: Vec<String>,
    /// What a reader must know before the numbers.
    pub about: String,
    /// A built-in name or a path.
    pub data: String,
    /// The files of the data set, listed when they are missing.
    #[serde(default)]
    pub files: Vec<String>,
    /// The columns.
    pub noises: Vec<LabelNoise>,
    /// The rate the methods are told.
    #[serde(default = "known")]
    pub noise_rate: NoiseRate,
    /// How the data is read.
    #[serde(default)]
    pub load: Load,
    /// The rows, each with a name.
    pub methods: Vec<Contender>,
    /// What the paper prints.
    #[serde(default)]
    pub published: Published,
    /// What the paper says about it.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// As in the paper, for a GPU.
    #[serde(rename = "paper-scale")]
    pub paper_scale: Scale,
    /// The same structure, for two cores.
    #[serde(rename = "laptop-scale")]
    pub laptop_scale: Scale,
    /// The file itself.
    #[serde(skip)]
    pub text: String,
}

impl Recipe {
    /// Reads a recipe and checks that its parts fit.
    ///
    /// # Errors
    /// A wrong or unknown key, with line and column; a method or noise that is named and not there.
    pub fn read(text: &str) -> Outcome<Self> {
        let recipe = Self { text: text.to_owned(), ..parse(text)? };
        recipe.check()?;
        Ok(recipe)
    }

    /// The names of its rows.
    pub fn names(&self) -> Vec<String> {
        self.methods.iter().map(Contender::called).collect()
    }

    /// The names of its columns.
    pub fn columns(&self) -> Vec<String> {
        self.noises.iter().map(ToString::to_string).collect()
    }

    /// One of its two sizes.
    pub fn scale(&self, size: RecipeSize) -> &Scale {
        match size {
            RecipeSize::Paper => &self.paper_scale,
            RecipeSize::Laptop => &self.laptop_scale,
        }
    }

    fn check(&self) -> Outcome<()> {
        check_version(self.version)?;
        let (names, columns) = (self.names(), self.columns());
        if let Some(row) = self.methods.iter().find(|row| row.name.is_none()) {
            return Err(Failure::new(format!("method {}: a recipe names its rows: add `name`", row.method)));
        }
        if let Some(name) = names.iter().find(|name| name.contains(',')) {
            // `--only` separates names by commas.
            return Err(Error::value("name of a row", "without a comma", name).into());
        }
        self.published.check(&names, columns.len())?;
        for claim in &self.claims {
            claim.check(&names, &columns).map_err(|failure| failure.within(format!("claim \"{}\"", claim.says)))?;
        }
        for size in RecipeSize::ALL {
            let scale = self.scale(size);
            known_names("method", scale.methods.keys(), &names)?;
            known_names("noise", scale.noises.keys(), &columns)?;
            scale.experiment(self, &names, None)?.check()?;
        }
        if self.laptop_scale.deviations.is_empty() {
            return Err(Error::empty("deviations of the laptop scale").into());
        }
        Ok(())
    }
}

/// Refuses a name that is not one of those known.
pub(super) fn known_names<'a>(
    what: &str,
    names: impl IntoIterator<Item = &'a String>,
    known: &[String],
) -> Outcome<()> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Error::unknown(what, name, &known).into()),
        None => Ok(()),
    }
}

fn known() -> NoiseRate {
    NoiseRate::Known
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const TEXT: &str = r#"
version = 1
title = "Two rows"
about = "Made up."
data = "digits"
noises = ["pair:0.2"]

[[methods]]
name = "A"
method = "npcl"

[[methods]]
name = "B"
method = "standard"

[published]
A = ["90.10 ± 0.20"]
B = ["80.0"]

[[claims]]
says = "A beats B"
law.beats = { first = "A", others = ["B"] }

[paper-scale]
network = "mlp"
seeds = [1, 2, 3]
time = "seconds"

[laptop-scale]
network = "mlp:16"
seeds = [1, 2]
plan.epochs = 2
methods.A = "npcl:0.1"
time = "seconds"
deviations = ["a smaller network"]
"#;

    /// A recipe for tests.
    pub fn recipe() -> Recipe {
        Recipe::read(TEXT).unwrap()
    }

    #[test]
    fn each_size_is_an_experiment() {
        let recipe = recipe();
        let paper = recipe.paper_scale.experiment(&recipe, &recipe.names(), None).unwrap();
        assert_eq!((paper.plan.epochs, paper.seeds.len(), paper.methods.len()), (200, 3, 2));
        let laptop = recipe.laptop_scale.experiment(&recipe, &["A".to_owned()], Some(5)).unwrap();
        assert_eq!((laptop.plan.epochs, laptop.seeds.len(), laptop.methods.len()), (2, 5, 1));
        assert_eq!(laptop.methods[0].method.rate(), Some(0.1));
    }

    #[test]
    fn mistakes_in_a_recipe_say_where() {
        let said = |from: &str, to: &str| Recipe::read(&TEXT.replace(from, to)).unwrap_err().to_string();
        assert!(said("others = [\"B\"]", "others = [\"C\"]").contains("claim \"A beats B\""));
        assert!(said("title", "titel").contains("line 3, column 1"));
        assert!(said("B = [\"80.0\"]", "C = [\"80.0\"]").contains("published row"));
        assert!(said("name = \"B\"\n", "").contains("a recipe names its rows"));
        assert!(said("name = \"B\"", "name = \"B, tuned\"").contains("without a comma"));
        assert!(said("deviations = [\"a smaller network\"]", "").contains("deviations"));
        assert!(said("methods.A", "methods.X").contains('X'));
    }
}
