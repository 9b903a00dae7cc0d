//! [`Scale`]: the size at which a recipe is run: as in the paper, or sized for two cores with every deviation written down.

use super::recipe::Recipe;
use crate::run::experiment::Experiment;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::spec_file::VERSION;
use crate::ui::failure::Outcome;
use clap::ValueEnum;
use serde::Deserialize;
use std::collections::BTreeMap;
use tares::{Method, Network, Plan};

/// The two sizes of every recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RecipeSize {
    /// Sized for two cores
    #[default]
    Laptop,
    /// Exactly as published, for a GPU
    Paper,
}

impl RecipeSize {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Laptop, Self::Paper];

    /// The name people type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laptop => "laptop",
            Self::Paper => "paper",
        }
    }
}

/// One size of a recipe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scale {
    /// The network.
    pub network: Network,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Epochs, batches, optimiser; other settings are those of Co-teaching's comparisons: [`Plan::default`].
    #[serde(default)]
    pub plan: Plan,
    /// Methods with other parameters at this size, by name.
    #[serde(default)]
    pub methods: BTreeMap<String, Method>,
    /// Other data at this size, e.g. the subset at hand.
    #[serde(default)]
    pub data: Option<String>,
    /// Train on this many rows at most ([`Load::rows`]).
    #[serde(default)]
    pub rows: Option<usize>,
    /// Noises that replace those of the recipe at this size; `""` leaves a column out.
    #[serde(default)]
    pub noises: BTreeMap<String, String>,
    /// The files of its data, if they are others.
    #[serde(default)]
    pub files: Option<Vec<String>>,
    /// How long it takes, and on what.
    pub time: String,
    /// Everything that is not as published.
    #[serde(default)]
    pub deviations: Vec<String>,
}

impl Scale {
    /// The recipe's columns that run at this size, each with its noise here.
    ///
    /// # Errors
    /// An invalid noise.
    pub fn columns(&self, recipe: &Recipe) -> Outcome<Vec<(String, LabelNoise)>> {
        let mut columns = Vec::new();
        for (name, noise) in recipe.columns().into_iter().zip(&recipe.noises) {
            match self.noises.get(&name).map(String::as_str) {
                Some("") => {}
                Some(other) => columns.push((name, other.parse()?)),
                None => columns.push((name, noise.clone())),
            }
        }
        Ok(columns)
    }

    /// The headings of the columns that run at this size.
    ///
    /// # Errors
    /// An invalid noise.
    pub fn headings(&self, recipe: &Recipe) -> Outcome<Headings> {
        let heading = |(column, noise): (String, LabelNoise)| {
            let noise = noise.to_string();
            let heading = if noise == column { noise } else { format!("{noise} (published: {column})") };
            (column, heading)
        };
        Ok(Headings(self.columns(recipe)?.into_iter().map(heading).collect()))
    }

    /// The data at this size.
    pub fn data<'a>(&'a self, recipe: &'a Recipe) -> &'a str {
        self.data.as_deref().unwrap_or(&recipe.data)
    }

    /// The files that its data needs.
    pub fn files<'a>(&'a self, recipe: &'a Recipe) -> &'a [String] {
        self.files.as_deref().unwrap_or(&recipe.files)
    }

    /// The experiment of a recipe at this size, with some of its rows and, if given, other seeds.
    ///
    /// # Errors
    /// A method's own plan has a setting that plans don't have.
    pub fn experiment(&self, recipe: &Recipe, rows: &[String], seeds: Option<u64>) -> Outcome<Experiment> {
        let mut methods: Vec<_> = recipe.methods.iter().filter(|row| rows.contains(&row.called())).cloned().collect();
        for row in &mut methods {
            if let Some(method) = self.methods.get(&row.called()) {
                row.method = method.clone();
            }
        }
        Ok(Experiment {
            version: VERSION,
            data: self.data(recipe).to_owned(),
            noises: self.columns(recipe)?.into_iter().map(|(_, noise)| noise).collect(),
            noise_seed: None,
            seeds: seeds.map_or_else(|| self.seeds.clone(), |count| (1..=count).collect()),
            noise_rate: recipe.noise_rate,
            device: "cpu".to_owned(),
            network: Some(self.network.clone().into()),
            methods,
            load: Load { rows: self.rows.or(recipe.load.rows), ..recipe.load.clone() },
            plan: Plan { seed: 1, ..self.plan.clone() },
        })
    }
}

/// What stands above the columns that run at one size: the noise, and that of the recipe if this one replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headings(Vec<(String, String)>);

impl Headings {
    /// Whether a column of the recipe runs at this size.
    pub fn has(&self, column: &str) -> bool {
        self.0.iter().any(|(name, _)| name == column)
    }

    /// What stands above a column of the recipe; one that does not run has its own name.
    pub fn of<'a>(&'a self, column: &'a str) -> &'a str {
        self.0.iter().find(|(name, _)| name == column).map_or(column, |(_, heading)| heading)
    }
}

impl FromIterator<String> for Headings {
    /// Columns without replacements.
    fn from_iter<T: IntoIterator<Item = String>>(columns: T) -> Self {
        Self(columns.into_iter().map(|column| (column.clone(), column)).collect())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_column_may_be_replaced_or_left_out_at_one_size() {
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.noises.push("symmetric:0.5".parse().unwrap());
        recipe.laptop_scale.noises.insert("pair:0.2".into(), "pair:0.1".into());
        recipe.laptop_scale.noises.insert("symmetric:0.5".into(), String::new());
        let columns = recipe.laptop_scale.columns(&recipe).unwrap();
        assert_eq!(columns, [("pair:0.2".to_owned(), "pair:0.1".parse().unwrap())]);
        assert_eq!(recipe.paper_scale.columns(&recipe).unwrap().len(), 2);
        let headings = recipe.laptop_scale.headings(&recipe).unwrap();
        assert_eq!(headings.of("pair:0.2"), "pair:0.1 (published: pair:0.2)", "nobody takes it for the other noise");
        assert!(!headings.has("symmetric:0.5"));
        assert_eq!(recipe.paper_scale.headings(&recipe).unwrap().of("pair:0.2"), "pair:0.2");
        let experiment = recipe.laptop_scale.experiment(&recipe, &recipe.names(), None).unwrap();
        assert_eq!(experiment.noises.len(), 1);
    }
}
