//! [`SideBySide`]: our numbers, the published ones and the difference, as text, Markdown, LaTeX and CSV.

use super::recipe::Recipe;
use super::scale::Headings;
use crate::files::cell::{guarded, push_line};
use crate::record::RunRecord;
use crate::report::escape;
use crate::report::page::name_of_typed;
use crate::report::summary::{Summary, accuracy_table};
use crate::report::table::Cell;

/// The table of a recipe: rows down, noises across, three numbers in each place.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// What the numbers are.
    pub title: String,
    /// The noises, and whether the paper prints numbers for them.
    pub columns: Vec<(String, bool)>,
    /// The rows.
    pub rows: Vec<ComparedRow>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// Its name.
    pub name: String,
    /// One place per noise.
    pub places: Vec<ComparedPlace>,
}

/// What there is about a row under a noise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedPlace {
    /// Ours, in per cent.
    pub ours: Option<Cell>,
    /// The published number as it is printed.
    pub published: Option<String>,
    /// Ours minus the published one.
    pub difference: Option<f64>,
}

const NOTHING: &str = "–";

impl SideBySide {
    /// The table of a recipe's runs at a size with these headings.
    pub fn of(recipe: &Recipe, headings: &Headings, runs: &[RunRecord]) -> Self {
        let summaries: Vec<Summary> = runs.iter().filter_map(Summary::of).collect();
        let ours = accuracy_table(&summaries);
        let columns: Vec<(String, bool)> = (recipe.columns().iter().enumerate())
            .map(|(c, name)| (headings.of(name).to_owned(), recipe.published.has(c)))
            .collect();
        let place = |row: &str, (c, (noise, _)): (usize, &(String, bool))| {
            let found = ours.rows.iter().find(|(name, _)| name == row).and_then(|(_, cells)| {
                let column = ours.columns.iter().position(|column| column == name_of_typed(noise))?;
                cells[column]
            });
            let printed = recipe.published.at(row, c);
            ComparedPlace {
                ours: found,
                published: printed.map(ToString::to_string),
                difference: found.zip(printed).map(|(ours, printed)| ours.mean - printed.mean),
            }
        };
        let row = |name: String| {
            let places = columns.iter().enumerate().map(|column| place(&name, column)).collect();
            ComparedRow { name, places }
        };
        Self { title: ours.title, rows: recipe.names().into_iter().map(row).collect(), columns }
    }

    /// Whether a mean is the best of ours in its column, as printed.
    pub fn is_best(&self, row: usize, column: usize) -> bool {
        let shown = |row: &ComparedRow| row.places[column].ours.map(|cell| (cell.mean * 100.0).round());
        let all: Vec<Option<f64>> = self.rows.iter().map(shown).collect();
        let best = all.iter().flatten().copied().fold(f64::MIN, f64::max);
        all.iter().flatten().count() > 1 && all[row] == Some(best)
    }

    /// Headings and lines of words; `marked` is how the best of ours is written.
    fn grid(&self, plus_minus: &str, marked: impl Fn(String) -> String) -> Vec<Vec<String>> {
        let mut head = vec!["method".to_owned()];
        for (noise, printed) in &self.columns {
            head.push(noise.clone());
            if *printed {
                head.extend(["published".to_owned(), "difference".to_owned()]);
            }
        }
        let mut lines = vec![head];
        for (r, row) in self.rows.iter().enumerate() {
            let mut line = vec![row.name.clone()];
            for (c, (place, (_, printed))) in row.places.iter().zip(&self.columns).enumerate() {
                let ours = place.ours.map_or(NOTHING.to_owned(), |cell| cell.text(plus_minus));
                line.push(if self.is_best(r, c) { marked(ours) } else { ours });
                if *printed {
                    let published = place.published.clone().unwrap_or(NOTHING.to_owned());
                    line.push(published.replace(" ± ", plus_minus));
                    line.push(place.difference.map_or(NOTHING.to_owned(), |points| format!("{points:+.2}")));
                }
            }
            lines.push(line);
        }
        lines
    }

    /// For the terminal; a star marks the best of ours in each column.
    pub fn text(&self) -> String {
        let lines = self.grid(" ± ", |text| format!("{text} *"));
        let widths: Vec<usize> =
            (0..lines[0].len()).map(|c| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0)).collect();
        let mut text = format!("{}\n", self.title);
        for line in &lines {
            let mut shown = format!("  {}{}", line[0], " ".repeat(widths[0] - line[0].chars().count()));
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                shown.push_str(&format!("   {}{cell}", " ".repeat(width - cell.chars().count())));
            }
            text.push_str(shown.trim_end());
            text.push('\n');
        }
        text
    }

    /// A Markdown table; the best of ours is bold.
    pub fn markdown(&self) -> String {
        let lines = self.grid(" ± ", |text| format!("**{text}**"));
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            // Bold cells are ours, all other words are names.
            let cells: Vec<String> = line
                .iter()
                .map(|cell| if cell.starts_with("**") { cell.clone() } else { escape::markdown(cell) })
                .collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
            if number == 0 {
                text.push_str(&format!("|---|{}\n", "--:|".repeat(line.len() - 1)));
            }
        }
        text
    }

    /// A LaTeX tabular (package booktabs); the best of ours is bold.
    pub fn latex(&self) -> String {
        let lines = self.grid("@", |text| format!("!{text}"));
        let cell = |(column, text): (usize, &String)| {
            if column == 0 {
                return escape::latex(text);
            }
            let (bold, number) = text.strip_prefix('!').map_or((false, text.as_str()), |number| (true, number));
            let number = match number {
                NOTHING => "--".to_owned(),
                number => format!("${}$", number.replace('@', " \\pm ")),
            };
            if bold { format!("{{\\boldmath{number}}}") } else { number }
        };
        let mut text = format!(
            "% {}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
            self.title.replace('\n', " "),
            "r".repeat(lines[0].len() - 1)
        );
        for (number, line) in lines.iter().enumerate() {
            let cells: Vec<String> = match number {
                0 => line.iter().map(|name| escape::latex(name)).collect(),
                _ => line.iter().enumerate().map(cell).collect(),
            };
            text.push_str(&format!("{} \\\\\n", cells.join(" & ")));
            if number == 0 {
                text.push_str("\\midrule\n");
            }
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        text
    }

    /// CSV with one line per place that ran.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        push_line(&mut text, ["method", "noise", "mean", "std", "seeds", "published", "difference"]);
        for row in &self.rows {
            for (place, (noise, _)) in row.places.iter().zip(&self.columns) {
                let Some(ours) = place.ours else { continue };
                push_line(
                    &mut text,
                    [
                        guarded(&row.name).into_owned(),
                        noise.clone(),
                        format!("{:.4}", ours.mean),
                        ours.std.map_or(String::new(), |std| format!("{std:.4}")),
                        ours.runs.to_string(),
                        place.published.clone().unwrap_or_default(),
                        place.difference.map_or(String::new(), |points| format!("{points:.4}")),
                    ],
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;

    fn table() -> SideBySide {
        let recipe = super::super::recipe::tests::recipe();
        let mut runs: Vec<RunRecord> = (1..=2).map(|seed| made_up("A", "pair", 0.2, seed, 0.9)).collect();
        runs.iter_mut().for_each(|run| run.epochs.iter_mut().for_each(|epoch| epoch.test_accuracy = Some(0.9)));
        SideBySide::of(&recipe, &Headings::default(), &runs)
    }

    #[test]
    fn ours_stands_beside_the_published_number() {
        let place = &table().rows[0].places[0];
        assert_eq!(place.published.as_deref(), Some("90.10 ± 0.20"));
        assert!((place.difference.unwrap() + 0.1).abs() < 1e-9);
        assert!(table().text().contains("90.00 ± 0.00   90.10 ± 0.20        -0.10"), "\n{}", table().text());
    }

    #[test]
    fn a_column_without_noise_is_filled() {
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.noises[0] = "none".parse().unwrap();
        let mut run = made_up("A", "pair", 0.2, 1, 0.9);
        run.manifest.noise = None;
        let table = SideBySide::of(&recipe, &Headings::default(), &[run]);
        assert_eq!(table.columns[0].0, "none");
        assert!(table.rows[0].places[0].ours.is_some(), "{}", table.text());
    }

    #[test]
    fn every_form_says_the_same() {
        let table = table();
        assert!(table.markdown().contains("| A | 90.00 ± 0.00 | 90.10 ± 0.20 | -0.10 |"), "{}", table.markdown());
        assert!(table.markdown().contains("| B | – | 80.0 | – |"));
        assert!(
            table.latex().contains("A & $90.00 \\pm 0.00$ & $90.10 \\pm 0.20$ & $-0.10$ \\\\"),
            "{}",
            table.latex()
        );
        assert!(table.csv().ends_with("A,pair:0.2,90.0000,0.0000,2,90.10 ± 0.20,-0.1000\n"), "{}", table.csv());
    }
}
