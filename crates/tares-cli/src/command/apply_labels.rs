//! `tares apply-labels`: writes reviewed labels into a copy of the data.

use super::Exit;
use super::source::load;
use crate::run::load::Load;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Label};
use tares_data::cell::guarded;
use tares_data::{Loaded, is_one_file, write_labelled};

/// Endings of files, which no folder is expected to have.
const FILES: [&str; 8] = ["csv", "tsv", "txt", "jsonl", "parquet", "npy", "npz", "gz"];

/// Put corrected labels into data
///
/// Writes a copy of DATA, in its own format, with the labels of FILE: the export of audit.html, consensus.csv, or any table
/// with the columns `index` and `label`. Rows that are not in FILE keep their labels. Pictures go into the folders of their new
/// classes; a folder that this command wrote before is replaced as a whole.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares apply-labels flowers.csv labels-reviewed.csv --label species --out corrected
  tares apply-labels photos/ labels-reviewed.csv --out photos-corrected
  tares apply-labels flowers.csv audits/flowers/labels-suggested.csv --out corrected   all suggestions, without review
  tares apply-labels flowers.csv audits/flowers/labels-missing.csv --out labelled        for rows without a label
  tares apply-labels flowers.csv consensus/crowd/consensus.csv --label species --out corrected  what tares consensus found")]
pub struct ApplyLabels {
    /// The data that was audited: a path
    data: String,
    /// The labels: a CSV file with `index` and `label` (or `suggested`)
    file: PathBuf,
    /// Where to write the corrected data: a folder or, for data in one file, a file with the same ending
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Accept labels that take more than half of its rows away from a class
    #[arg(long)]
    allow_emptying: bool,
    #[command(flatten)]
    reading: Load,
}

impl ApplyLabels {
    /// Writes the data with its new labels.
    ///
    /// # Errors
    /// The table was made for other data or names unknown classes, or the directory cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let options = self.reading.options().with(|options| options.test_fraction = 0.0);
        let loaded = load(&self.data, &options, screen)?;
        self.refuse_other_format(&loaded)?;
        let added = read_added(&self.file, &loaded)?;
        let changes = if added.is_empty() { read_changes(&self.file, &loaded.train)? } else { HashMap::new() };
        let mut labels = loaded.train.given().to_vec();
        let changed = changes.iter().filter(|(index, label)| labels[**index] != **label).count();
        changes.iter().for_each(|(&index, &label)| labels[index] = label);
        if !self.allow_emptying {
            refuse_emptied(&loaded.train, &labels)?;
        }
        let data = loaded.train.clone().relabel(labels)?;
        let files = write_labelled(&loaded, &data, &added, &self.out)?.len();
        let done = match added.len() {
            0 => format!("{changed} of {} labels changed", data.len()),
            1 => "1 row without a label has one now".to_owned(),
            count => format!("{count} rows without a label have one now"),
        };
        let written = if files == 1 { "1 file" } else { &format!("{files} files") };
        screen.line(format!("{done}; {written} written to {}", plain(&self.out.display().to_string())))?;
        screen.result(|| {
            serde_json::json!({
                "rows": data.len(), "changed": changed, "added": added.len(), "files": files, "out": json_path(&self.out),
            })
        })?;
        Ok(Exit::Fine)
    }
}

impl ApplyLabels {
    /// Refuses a place that is called like a file but can only be a folder.
    fn refuse_other_format(&self, loaded: &Loaded) -> Outcome<()> {
        let ending = self.out.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        if self.out.is_dir() || !FILES.contains(&ending.as_str()) || is_one_file(loaded, &self.out) {
            return Ok(());
        }
        let files = loaded.origin.files();
        let way_out = match &files[..] {
            [file] if is_one_file(loaded, file) => {
                format!("name a folder, or a file that ends like {}", plain(&file.display().to_string()))
            }
            _ => "name a folder: the data is more than one file".to_owned(),
        };
        let out = plain(&self.out.display().to_string()).into_owned();
        Err(Failure::new(format!("--out {out}: the data is written in the format it has")).way_out(way_out))
    }
}

/// Refuses new labels that take more than half of the rows away from a class.
fn refuse_emptied(before: &Dataset, after: &[Label]) -> Outcome<()> {
    let mut taken = vec![0; before.classes()];
    before.given().iter().zip(after).filter(|(old, new)| old != new).for_each(|(&old, _)| taken[old as usize] += 1);
    let emptied = before.class_counts().into_iter().zip(taken).zip(before.class_names());
    let emptied: Vec<String> = emptied
        .filter(|((rows, taken), _)| 2 * taken > *rows)
        .map(|((rows, taken), name)| format!("'{}' loses {taken} of its {rows} rows", plain(name)))
        .collect();
    match emptied.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("a class would keep less than half of its rows: {}", emptied.join(", ")))
            .way_out(
                "look at these rows first: the model may not know the class; --allow-emptying accepts the labels",
            )),
    }
}

/// Reads `labels-missing.csv` of an audit, which has no column `index`: labels for rows without one, which it names. Other tables give
/// nothing.
fn read_added(path: &Path, loaded: &Loaded) -> Outcome<Vec<(usize, Label)>> {
    let fail = |text: String| Failure::new(format!("{}: {text}", path.display()));
    let mut reader = csv::Reader::from_path(path).map_err(|error| fail(error.to_string()))?;
    let header = reader.headers().map_err(|error| fail(error.to_string()))?.clone();
    let position = |name: &str| header.iter().position(|cell| cell == name);
    let (None, Some(id_at), Some(label_at)) = (position("index"), position("id"), position("suggested")) else {
        return Ok(Vec::new());
    };
    let Some(rest) = &loaded.unlabelled else { return Err(fail("every row of the data has a label".to_owned())) };
    let rows: HashMap<String, usize> =
        (0..rest.len()).flat_map(|row| [(guarded(&rest.id(row)).into_owned(), row), (rest.id(row), row)]).collect();
    let name = |name: &str, cell: &str| name == cell || guarded(name) == cell;
    let mut added = Vec::new();
    for (line, record) in reader.records().enumerate() {
        let place = |text: String| fail(format!("line {}: {text}", line + 2));
        let record = record.map_err(|error| place(error.to_string()))?;
        let (id, class) = (record.get(id_at).unwrap_or_default(), record.get(label_at).unwrap_or_default());
        let row = rows.get(id).ok_or_else(|| {
            place(format!("no row without a label is called '{id}'")).way_out("this table was made for other data")
        })?;
        let label = rest.class_names().iter().position(|known| name(known, class));
        let label = label.ok_or_else(|| place(format!("'{class}' is not one of the classes of the data")))?;
        added.push((*row, label as Label));
    }
    Ok(added)
}

/// Reads the table: row → new label.
fn read_changes(path: &Path, data: &Dataset) -> Outcome<HashMap<usize, Label>> {
    let fail = |text: String| Failure::new(format!("{}: {text}", path.display()));
    let mut reader = csv::Reader::from_path(path).map_err(|error| fail(error.to_string()))?;
    let header = reader.headers().map_err(|error| fail(error.to_string()))?.clone();
    let position = |name: &str| header.iter().position(|cell| cell == name);
    let index_at = position("index").ok_or_else(|| fail("no column 'index'".to_owned()))?;
    let label_at = position("label")
        .or_else(|| position("suggested"))
        .ok_or_else(|| fail("no column 'label' or 'suggested'".to_owned()))?;
    let given_at = position("given");
    let id_at = position("id").filter(|_| data.has_ids());
    // Our tables write names like `=cat` as `'=cat` (`guarded`), so accept both forms. Where the guarded form of one class is
    // the name of another, the name wins: it is inserted later.
    let names = || data.class_names().iter().zip(0..);
    let shown = names().map(|(name, label)| (guarded(name).into_owned(), label));
    let classes: HashMap<String, Label> = shown.chain(names().map(|(name, label)| (name.clone(), label))).collect();
    let mut changes = HashMap::new();
    for (line, record) in reader.records().enumerate() {
        let place = |text: String| fail(format!("line {}: {text}", line + 2));
        let record = record.map_err(|error| place(error.to_string()))?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let index: usize = cell(index_at)
            .parse()
            .ok()
            .filter(|&index| index < data.len())
            .ok_or_else(|| place(format!("index must be in 0..{}, got '{}'", data.len(), cell(index_at))))?;
        let class = |name: &str| {
            classes.get(name).copied().ok_or_else(|| place(format!("'{name}' is not one of the classes of the data")))
        };
        if let Some(at) = id_at {
            let (told, real) = (cell(at), data.id(index));
            // A table without names holds row numbers instead.
            if told != real && told != guarded(&real) && told != index.to_string() {
                return Err(place(format!("row {index} is called '{real}', not '{told}'"))
                    .way_out("this table was made for other data or another order of rows; tares consensus --data counts rows as the data has them"));
            }
        }
        if let Some(at) = given_at {
            let (told, real) = (class(cell(at))?, data.given()[index]);
            if told != real {
                let real = &data.class_names()[real as usize];
                return Err(place(format!("row {index} has the label '{real}', not '{}'", cell(at)))
                    .way_out("this table was made for other data or another order of rows"));
            }
        }
        let label = class(cell(label_at))?;
        if changes.insert(index, label).is_some_and(|before| before != label) {
            return Err(place(format!("row {index} is listed twice, with different labels")));
        }
    }
    Ok(changes)
}

/// The `tares apply-labels` command that reads the data as an audit did.
pub fn command_line(source: &str, reading: &Load) -> String {
    let mut words = vec!["tares apply-labels".to_owned(), quoted_for_shell(source), "labels-reviewed.csv".to_owned()];
    words.extend(reading.arguments().iter().map(|word| quoted_for_shell(word)));
    words.push("--out corrected".to_owned());
    words.join(" ")
}

/// Quotes a word, if necessary, so that a shell does not change it.
fn quoted_for_shell(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+#".contains(c);
    match !word.is_empty() && word.chars().all(safe) && !word.starts_with('#') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
