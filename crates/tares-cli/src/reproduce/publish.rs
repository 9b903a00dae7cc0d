//! Writes the results of finished runs for readers: `RESULTS.md` with tables, verdicts and figures, and the numbers as CSV by date.

use super::catalogue;
use super::list::{ListedRecipe, entries};
use super::page::Reproduction;
use super::place::ReproductionPlace;
use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::files::{create_directory, file_name, read_text, write_whole};
use crate::record::RunRecord;
use crate::report::curves::Curves;
use crate::report::escape;
use crate::report::quantity::{QUANTITIES, Quantity, curves, heads};
use crate::report::summary::{self, Summary};
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;

/// The page.
pub const PAGE: &str = "RESULTS.md";
/// The directory of figures and CSV files, beside the page.
const FOLDER: &str = "results/paper";
/// The notes about all recipes, in the folder of notes; those about one are in a file with its name.
const NOTES_ABOUT_ALL: &str = "all";
/// The quantities whose figures are published, as the paper has them.
const FIGURES: [&str; 2] = ["test-accuracy", "label-precision"];
/// Figures per line.
const SIDE_BY_SIDE: usize = 3;
/// Without noise the paper draws training accuracy, and label precision is 1.
const FIGURES_WITHOUT_NOISE: [&str; 2] = ["test-accuracy", "train-accuracy"];

/// Writes `RESULTS.md` into a directory, with figures and CSV files in `results/paper` there, about everything below `root` that has
/// finished runs; returns their names. Notes in `results/paper/notes` become part of the page. Data is looked for in `data_dir` first.
///
/// # Errors
/// Nothing ran, a run is damaged, or the directory cannot be written.
pub fn publish(root: &Path, directory: &Path, data_dir: Option<&Path>) -> Outcome<Vec<String>> {
    let mut sections = String::new();
    let mut contents = String::new();
    let mut published = Vec::new();
    let listed = entries(root, data_dir)?;
    for (name, recipe) in recipes(root)? {
        let mut links = Vec::new();
        for size in RecipeSize::ALL {
            let runs = ReproductionPlace::new(root, &name, size).finished(&recipe, size)?;
            if runs.is_empty() {
                continue;
            }
            let reproduction = Reproduction { name: &name, recipe: &recipe, size, runs: &runs };
            sections.push_str(&section(&reproduction, directory)?);
            links.push(link(&reproduction));
            published.push(called(&reproduction));
        }
        contents.push_str(&line(&name, &recipe, listed.iter().find(|entry| entry.name == name), &links));
    }
    if published.is_empty() {
        return Err(Failure::new(format!("{}: nothing ran here yet", root.display()))
            .way_out("run a recipe first: tares reproduce list"));
    }
    let text = format!(
        "# The paper's tables and figures, reproduced\n\n\
         Written by `tares reproduce publish` from finished runs; nothing here is typed by hand except the notes. Numbers are \
         per cent, mean ± standard deviation over seeds of the test accuracy averaged over the last ten epochs (a quarter of a \
         run shorter than 40 epochs). A claim is judged by the difference within each seed and its 95 % interval.\n\n\
         {}| recipe | shows | sized for two cores | as published | claims |\n|---|---|---|---|---|\n{contents}\n{sections}",
        notes(directory, NOTES_ABOUT_ALL)?
    );
    create_directory(directory)?;
    write_whole(&directory.join(PAGE), text.trim_end().as_bytes())?;
    Ok(published)
}

/// The notes about a recipe, if there are any.
fn notes(directory: &Path, name: &str) -> Outcome<String> {
    let file = directory.join(FOLDER).join("notes").join(format!("{name}.md"));
    match file.exists() {
        true => Ok(format!("{}\n\n", read_text(&file)?.trim())),
        false => Ok(String::new()),
    }
}

/// The built-in recipes, then those of files whose runs are below `root`.
fn recipes(root: &Path) -> Outcome<Vec<(String, Recipe)>> {
    let built_in = catalogue::names();
    let mut all = built_in.iter().map(|name| catalogue::find(name)).collect::<Outcome<Vec<_>>>()?;
    let Ok(entries) = std::fs::read_dir(root) else { return Ok(all) };
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    for folder in folders {
        let called = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let size = RecipeSize::ALL.iter().find_map(|size| called.strip_suffix(&format!("-{}", size.name())));
        let file = folder.join("recipe.toml");
        if let Some(name) = size.filter(|name| !all.iter().any(|(known, _)| known == name))
            && file.exists()
        {
            let recipe = Recipe::read(&read_text(&file)?).map_err(|failure| failure.within(file.display()))?;
            all.push((name.to_owned(), recipe));
        }
    }
    Ok(all)
}

/// A line of the table of contents: what ran, and why the rest did not.
fn line(name: &str, recipe: &Recipe, listed: Option<&ListedRecipe>, links: &[String]) -> String {
    let paper = if recipe.paper.is_empty() { "beyond the paper".into() } else { recipe.paper.join(", ") };
    let state =
        |state: fn(&ListedRecipe) -> &str| listed.map_or_else(String::new, |entry| escape::markdown(state(entry)));
    let (laptop, full) = (state(|entry| &entry.laptop), state(|entry| &entry.full));
    format!("| {name} | {} | {laptop} | {full} | {} |\n", escape::markdown(&paper), links.join("; "))
}

/// A link to a section, with the verdicts on its claims.
fn link(reproduction: &Reproduction<'_>) -> String {
    let mut rulings: Vec<&str> = reproduction.verdicts().iter().map(|verdict| verdict.ruling.words()).collect();
    rulings.sort_unstable();
    let mut counted: Vec<String> = Vec::new();
    for group in rulings.chunk_by(|a, b| a == b) {
        counted.push(format!("{} {}", group.len(), group[0]));
    }
    let words = if counted.is_empty() { "no claim".to_owned() } else { counted.join(", ") };
    format!("[{words}](#{})", anchor(&heading(reproduction)))
}

fn called(reproduction: &Reproduction<'_>) -> String {
    format!("{}-{}", reproduction.name, reproduction.size.name())
}

fn heading(reproduction: &Reproduction<'_>) -> String {
    format!("{} ({} scale)", reproduction.recipe.title, reproduction.size.name())
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>();
    kept.replace(' ', "-")
}

/// Table, verdicts, notes, figures and deviations of one reproduction.
fn section(reproduction: &Reproduction<'_>, directory: &Path) -> Outcome<String> {
    let Reproduction { recipe, runs, .. } = *reproduction;
    let (called, folder) = (called(reproduction), directory.join(FOLDER));
    create_directory(&folder)?;
    let mut files = Vec::new();
    let rows: Vec<Summary> = runs.iter().filter_map(Summary::of).collect();
    for (what, text) in [("table", reproduction.table().csv()), ("runs", summary::csv(&rows)?)] {
        let file = format!("{called}-{what}-{}.csv", day(runs));
        write_whole(&folder.join(&file), text.as_bytes())?;
        files.push(format!("[{what}]({FOLDER}/{file})"));
    }
    let mut text = format!("## {}\n\n", heading(reproduction));
    if !recipe.paper.is_empty() {
        text.push_str(&format!("{}. ", escape::markdown(&recipe.paper.join(", "))));
    }
    text.push_str(&format!(
        "{}\n\n`{}`: {}. As CSV: {}.\n\n{}\n",
        escape::markdown(recipe.about.trim()),
        reproduction.command(),
        reproduction.extent(),
        files.join(", "),
        reproduction.table().markdown()
    ));
    for sentence in heads(runs) {
        text.push_str(&format!("{}\n\n", escape::markdown(&sentence)));
    }
    if !recipe.claims.is_empty() {
        text.push_str(&format!("{}\n", reproduction.verdicts_markdown()));
    }
    text.push_str(&notes(directory, reproduction.name)?);
    text.push_str(&figures(reproduction, &folder.join(&called), &format!("{FOLDER}/{called}"))?);
    let deviations = reproduction.deviations();
    if deviations.is_empty() {
        text.push_str("Everything is as published.\n");
    } else {
        text.push_str("Not as published:\n\n");
    }
    for deviation in &deviations {
        text.push_str(&format!("- {}\n", escape::markdown(deviation)));
    }
    text.push('\n');
    Ok(text)
}

/// Draws the figures into a folder; returns the lines that show them, side by side as in the paper.
fn figures(reproduction: &Reproduction<'_>, folder: &Path, address: &str) -> Outcome<String> {
    create_directory(folder)?;
    let clean = reproduction.runs.iter().all(|run| run.manifest.noise.is_none());
    let wanted = if clean { FIGURES_WITHOUT_NOISE } else { FIGURES };
    let mut text = String::new();
    for quantity in QUANTITIES.iter().filter(|quantity| wanted.contains(&quantity.file)) {
        let Quantity { file, title, note, .. } = quantity;
        let pictures = curves(reproduction.runs, quantity);
        if !pictures.is_empty() {
            text.push_str(&format!("**{title}** over epochs. {note}\n\n"));
        }
        for side_by_side in pictures.chunks(SIDE_BY_SIDE) {
            let (mut heads, mut shown) = (Vec::new(), Vec::new());
            for (noise, picture) in side_by_side {
                let file = format!("{file}-{}.svg", file_name(noise));
                write_whole(&folder.join(&file), picture.svg(Curves::NARROW)?.as_bytes())?;
                heads.push(escape::markdown(noise));
                shown.push(format!("![{}]({address}/{file})", escape::markdown(&picture.title)));
            }
            let rule = "---|".repeat(heads.len());
            text.push_str(&format!("| {} |\n|{rule}\n| {} |\n\n", heads.join(" | "), shown.join(" | ")));
        }
    }
    Ok(text)
}

/// The day the last of the runs began.
fn day(runs: &[RunRecord]) -> String {
    let last = runs.iter().map(|run| run.manifest.started.as_str()).max().unwrap_or_default();
    last.chars().take(10).collect()
}
