//! Everything a reproduction shows, from its finished runs: one page, the table in four forms, the verdicts, the figures.

use super::needed_files::a_part_of_the_data;
use super::recipe::Recipe;
use super::scale::{Headings, RecipeSize, Scale};
use super::side_by_side::SideBySide;
use super::verdict::{ClaimVerdict, verdicts};
use crate::files::cell::push_line;
use crate::files::write_whole;
use crate::record::{RunRecord, in_order};
use crate::report::curves::Curves;
use crate::report::page::{document, duration, render};
use crate::report::quantity::{QUANTITIES, curves, heads};
use crate::report::{self, escape};
use crate::ui::failure::Outcome;
use minijinja::context;
use minijinja::value::Value;
use std::path::Path;

/// A recipe with what came out of it.
pub struct Reproduction<'a> {
    /// The recipe's name.
    pub name: &'a str,
    /// The recipe.
    pub recipe: &'a Recipe,
    /// The size it ran at.
    pub size: RecipeSize,
    /// Its finished runs.
    pub runs: &'a [RunRecord],
}

impl Reproduction<'_> {
    /// The command that makes it.
    pub fn command(&self) -> String {
        format!("tares reproduce {} --scale {}", self.name, self.size.name())
    }

    /// Our numbers beside the published ones.
    pub fn table(&self) -> SideBySide {
        SideBySide::of(self.recipe, &self.headings(), self.runs)
    }

    /// The verdicts on the claims.
    pub fn verdicts(&self) -> Vec<ClaimVerdict> {
        verdicts(self.recipe, &self.headings(), self.runs)
    }

    /// Everything that is not as published: what the recipe says of this size, and data that was missing.
    pub fn deviations(&self) -> Vec<String> {
        let missing = in_order(self.runs.iter().flat_map(|run| run.manifest.data.missing_files.iter().cloned()));
        let part = (!missing.is_empty()).then(|| {
            let rows = in_order(self.runs.iter().map(|run| run.manifest.data.train_rows.to_string()));
            format!("{}; trained on {} rows", a_part_of_the_data(&missing), rows.join(", "))
        });
        self.scale().deviations.iter().cloned().chain(part).collect()
    }

    fn headings(&self) -> Headings {
        self.scale().headings(self.recipe).unwrap_or_default()
    }

    fn scale(&self) -> &Scale {
        self.recipe.scale(self.size)
    }

    /// How many of the runs that were asked for are finished, in words.
    pub fn extent(&self) -> String {
        let scale = self.scale();
        let columns = scale.columns(self.recipe).map_or(0, |columns| columns.len());
        let asked = self.recipe.methods.len() * columns * scale.seeds.len();
        let seconds: f64 = self.runs.iter().flat_map(|run| &run.epochs).map(|epoch| epoch.seconds).sum();
        let rest = if self.runs.len() < asked { format!(" of {asked}") } else { String::new() };
        format!(
            "{}{rest} runs of {} epochs with {}, {} of training",
            self.runs.len(),
            scale.plan.epochs,
            scale.network,
            duration(seconds)
        )
    }

    /// Writes page, tables, verdicts, figures and the report of the runs.
    ///
    /// # Errors
    /// The directory cannot be written, or a picture cannot be drawn.
    pub fn write(&self, directory: &Path) -> Outcome<()> {
        report::write_all(directory, &self.recipe.title, self.runs)?;
        let write = |name: &str, text: &str| write_whole(&directory.join(name), text.as_bytes());
        let table = self.table();
        write("beside-the-paper.txt", &table.text())?;
        write("beside-the-paper.md", &table.markdown())?;
        write("beside-the-paper.tex", &table.latex())?;
        write("beside-the-paper.csv", &table.csv())?;
        write("verdicts.md", &self.verdicts_markdown())?;
        write("verdicts.csv", &verdicts_csv(&self.verdicts()))?;
        write("reproduction.html", &self.page()?)
    }

    /// The verdicts as a Markdown list, the numbers below each.
    pub fn verdicts_markdown(&self) -> String {
        let mut text = String::new();
        for verdict in self.verdicts() {
            text.push_str(&format!("- **{}**: {}\n", verdict.ruling.words(), escape::markdown(&verdict.says)));
            for part in &verdict.evidence {
                text.push_str(&format!("  - {}: {}\n", escape::markdown(&part.sentence()), part.ruling.words()));
            }
        }
        text
    }

    /// The page: verdicts, table, figures, then how it was made.
    ///
    /// # Errors
    /// A picture cannot be drawn.
    pub fn page(&self) -> Outcome<String> {
        let body = render(
            "reproduction.html",
            include_str!("../../templates/reproduction.html"),
            context! {
                title => &self.recipe.title,
                paper => if self.recipe.paper.is_empty() { "Beyond the paper".to_owned() } else { self.recipe.paper.join(", ") },
                about => &self.recipe.about,
                verdicts => self.verdicts().iter().map(verdict_value).collect::<Vec<_>>(),
                table => table_value(&self.table()),
                heads => heads(self.runs),
                sections => self.sections()?,
                deviations => self.deviations(),
                facts => [
                    ("command", self.command()),
                    ("extent", self.extent()),
                    ("scale", self.size.name().to_owned()),
                    ("time", self.scale().time.clone()),
                ],
            },
        )?;
        document(&self.recipe.title, &body, include_str!("../../templates/reproduction.css"), "")
    }

    /// The figures in the paper's form: one small picture per noise, side by side, for every quantity.
    fn sections(&self) -> Outcome<Vec<Value>> {
        let mut sections = Vec::new();
        for quantity in &QUANTITIES {
            let mut figures = Vec::new();
            for (noise, picture) in curves(self.runs, quantity) {
                figures.push(context! {
                    caption => noise,
                    svg => Value::from_safe_string(picture.svg(Curves::NARROW)?),
                    words => picture.description(),
                });
            }
            if !figures.is_empty() {
                sections.push(context! { title => quantity.title, note => quantity.note, figures => figures });
            }
        }
        Ok(sections)
    }
}

fn verdict_value(verdict: &ClaimVerdict) -> Value {
    let parts: Vec<(String, &str)> =
        verdict.evidence.iter().map(|part| (part.sentence(), part.ruling.words())).collect();
    context! {
        says => &verdict.says,
        ruling => verdict.ruling.words(),
        class => verdict.ruling.words().replace(' ', "-"),
        parts => parts,
    }
}

fn table_value(table: &SideBySide) -> Value {
    let columns: Vec<Value> =
        table.columns.iter().map(|(noise, printed)| context! { noise => noise, printed => printed }).collect();
    let mut rows = Vec::new();
    for (r, row) in table.rows.iter().enumerate() {
        let places: Vec<Value> = (row.places.iter().zip(&table.columns).enumerate())
            .map(|(c, (place, (_, printed)))| {
                context! {
                    mean => place.ours.map(|cell| format!("{:.2}", cell.mean)),
                    std => place.ours.and_then(|cell| cell.std).map(|std| format!("{std:.2}")),
                    best => table.is_best(r, c),
                    printed => printed,
                    published => &place.published,
                    difference => place.difference.map(|points| format!("{points:+.2}")),
                }
            })
            .collect();
        rows.push(context! { name => &row.name, places => places });
    }
    context! { title => &table.title, columns => columns, rows => rows }
}

fn verdicts_csv(verdicts: &[ClaimVerdict]) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    let mut text = String::new();
    push_line(&mut text, ["claim", "what", "difference", "low", "high", "seeds", "published", "ruling"]);
    for verdict in verdicts {
        for part in &verdict.evidence {
            let (low, high) = part.interval.unzip();
            push_line(
                &mut text,
                [
                    verdict.says.clone(),
                    part.what.clone(),
                    number(part.mean),
                    number(low),
                    number(high),
                    part.seeds.to_string(),
                    number(part.published),
                    part.ruling.words().to_owned(),
                ],
            );
        }
    }
    text
}
