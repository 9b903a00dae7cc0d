//! What ran, written down for readers: one Markdown page with tables, verdicts and figures, and the numbers as CSV by date.

use super::catalogue;
use super::page::Reproduction;
use super::place::ReproductionPlace;
use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::files::{create_directory, file_name, read_text, write_whole};
use crate::record::RunRecord;
use crate::report::curves::Curves;
use crate::report::escape;
use crate::report::quantity::{QUANTITIES, curves};
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;

/// The quantities whose figures are published, as the paper has them.
const FIGURES: [&str; 2] = ["test-accuracy", "label-precision"];

/// Writes `README.md`, figures and CSV files about everything below `root` that has finished runs; gives back the names.
/// What stands in `notes.md` of the directory goes above the results.
///
/// # Errors
/// Nothing ran, a run is damaged, or the directory cannot be written.
pub fn publish(root: &Path, directory: &Path) -> Outcome<Vec<String>> {
    create_directory(directory)?;
    let notes = directory.join("notes.md");
    let notes = if notes.exists() { read_text(&notes)? } else { String::new() };
    let mut sections = String::new();
    let mut contents = String::new();
    let mut published = Vec::new();
    for (name, recipe) in recipes(root)? {
        for size in RecipeSize::ALL {
            let runs = ReproductionPlace::new(root, &name, size).finished(&recipe, size)?;
            if runs.is_empty() {
                continue;
            }
            let reproduction = Reproduction { name: &name, recipe: &recipe, size, runs: &runs };
            let called = format!("{name}-{}", size.name());
            sections.push_str(&section(&reproduction, &called, directory)?);
            contents.push_str(&line(&reproduction, &called));
            published.push(called);
        }
    }
    if published.is_empty() {
        return Err(Failure::new(format!("{}: nothing ran here yet", root.display()))
            .way_out("run a recipe first: tares reproduce list"));
    }
    let text = format!(
        "# The paper's tables and figures, as they come out here\n\n\
         Written by `tares reproduce publish` from finished runs; nothing here is typed by hand except the notes. Numbers are \
         per cent, mean ± standard deviation over seeds of the test accuracy averaged over the last ten epochs (a quarter of a \
         run shorter than 40 epochs). A claim is judged by the difference within each seed and its 95 % interval.\n\n\
         {notes}\n| recipe | paper | runs | claims |\n|---|---|---|---|\n{contents}\n{sections}"
    );
    write_whole(&directory.join("README.md"), text.as_bytes())?;
    Ok(published)
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

/// A line of the table of contents.
fn line(reproduction: &Reproduction<'_>, called: &str) -> String {
    let mut rulings: Vec<&str> = reproduction.verdicts().iter().map(|verdict| verdict.ruling.words()).collect();
    rulings.sort_unstable();
    let mut counted: Vec<String> = Vec::new();
    for group in rulings.chunk_by(|a, b| a == b) {
        counted.push(format!("{} {}", group.len(), group[0]));
    }
    let paper =
        if reproduction.recipe.paper.is_empty() { "beyond".into() } else { reproduction.recipe.paper.join(", ") };
    format!(
        "| [{called}](#{}) | {} | {} | {} |\n",
        anchor(&heading(reproduction)),
        escape::markdown(&paper),
        escape::markdown(&reproduction.extent()),
        counted.join(", ")
    )
}

fn heading(reproduction: &Reproduction<'_>) -> String {
    format!("{} ({} scale)", reproduction.recipe.title, reproduction.size.name())
}

/// As GitHub makes anchors of headings.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>();
    kept.replace(' ', "-")
}

/// Table, verdicts, figures and deviations of one reproduction.
fn section(reproduction: &Reproduction<'_>, called: &str, directory: &Path) -> Outcome<String> {
    let recipe = reproduction.recipe;
    let csv = format!("{called}-{}.csv", day(reproduction.runs));
    write_whole(&directory.join(&csv), reproduction.table().csv().as_bytes())?;
    let mut text = format!("## {}\n\n", heading(reproduction));
    if !recipe.paper.is_empty() {
        text.push_str(&format!("{}. ", escape::markdown(&recipe.paper.join(", "))));
    }
    text.push_str(&format!(
        "{}\n\n`{}`: {}.\n\n{}\n[CSV]({csv})\n\n",
        escape::markdown(recipe.about.trim()),
        reproduction.command(),
        reproduction.extent(),
        reproduction.table().markdown()
    ));
    if !recipe.claims.is_empty() {
        text.push_str(&format!("{}\n", reproduction.verdicts_markdown()));
    }
    let folder = directory.join(called);
    create_directory(&folder)?;
    for quantity in QUANTITIES.iter().filter(|quantity| FIGURES.contains(&quantity.file)) {
        for (noise, picture) in curves(reproduction.runs, quantity) {
            let file = format!("{}-{}.svg", quantity.file, file_name(&noise));
            write_whole(&folder.join(&file), picture.svg(Curves::NARROW)?.as_bytes())?;
            text.push_str(&format!("![{}]({called}/{file})\n", escape::markdown(&picture.title)));
        }
    }
    text.push_str("\nNot as published:\n\n");
    for deviation in &recipe.scale(reproduction.size).deviations {
        text.push_str(&format!("- {}\n", escape::markdown(deviation)));
    }
    text.push('\n');
    Ok(text)
}

/// The day the last of the runs began.
fn day(runs: &[RunRecord]) -> String {
    let last = runs.iter().map(|run| run.manifest.started.as_str()).max().unwrap_or_default();
    last.chars().take(10).collect()
}
