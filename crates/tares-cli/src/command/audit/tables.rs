//! Audits tables that hold labels beside their probabilities: many files, streamed.

use super::{Audit, normalisable};
use crate::audit::files::MOST_TABLE_ROWS;
use crate::audit::findings::Findings;
use crate::audit::print::say_columns;
use crate::audit::rows::AuditRows;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::Screen;
use std::path::{Path, PathBuf};
use tares_core::estimate::{MissingRows, RowIds};
use tares_data::probabilities::{
    Agreed, ClassTables, LooksLike, NamedRows, ProbabilityTables, TableIds, TableOptions, find_tables, is_pattern,
    look_at,
};

/// What is done with rows that lack a label or a probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Missing {
    /// They are an error that names file and row.
    Error,
    /// They are left out and counted.
    Skip,
}

impl Missing {
    pub(super) fn rows(self) -> MissingRows {
        match self {
            Self::Error => MissingRows::Refuse,
            Self::Skip => MissingRows::Skip,
        }
    }
}

impl Audit {
    /// The tables of labels and probabilities, if the user named any: `--probs` without labels elsewhere; or, as DATA, several
    /// files, a pattern, or Parquet that holds probabilities.
    pub(super) fn tables(&self) -> Option<Vec<PathBuf>> {
        if !self.probs.is_empty() {
            return (self.data.is_empty() && self.reading.labels.is_none()).then(|| self.probs.clone());
        }
        let named: Vec<PathBuf> = self.data.iter().map(PathBuf::from).collect();
        match named.as_slice() {
            [] => None,
            [only] if only.is_file() || only.is_dir() => {
                let files = self.tables_or_data()?;
                // Deeper than data sets lie (`data/` is Hugging Face's), Parquet is nothing but tables, whatever they lack.
                let is_deep =
                    |file: &PathBuf| ![Some(only.as_path()), Some(&only.join("data"))].contains(&file.parent());
                let nested = only.is_dir() && files.iter().all(is_deep);
                let is_table = nested || look_at(&files, self.table_options()) == LooksLike::Probabilities;
                is_table.then_some(named)
            }
            [only] => (is_pattern(only) && !only.exists()).then_some(named),
            _ => Some(named),
        }
    }

    /// The files of the only DATA, where nothing that was typed says whether they are probabilities or data for judges.
    fn tables_or_data(&self) -> Option<Vec<PathBuf>> {
        let [only] = self.data.as_slice() else { return None };
        let only = PathBuf::from(only);
        let is_told = !self.probs.is_empty() || !self.judges.is_empty() || self.reading.labels.is_some();
        let is_place = only.is_file() || (only.is_dir() && !self.is_of_run());
        (is_place && !is_told).then(|| find_tables(&[only]).ok()).flatten()
    }

    /// Says why judges are trained on Parquet that could have been a table of probabilities.
    pub(super) fn say_why_judges(&self, screen: &Screen) {
        let Some(files) = self.tables_or_data() else { return };
        if let LooksLike::Other(why) = look_at(&files, self.table_options()) {
            let first = files[0].display();
            screen.note(format!(
                "{first}: judges are trained on its columns, which are no probabilities: {why}; name it with --probs if they are"
            ));
        }
    }

    fn table_options(&self) -> TableOptions<'_> {
        TableOptions {
            label: self.reading.label.as_deref(),
            id: self.reading.id_column.as_deref(),
            seed: self.sample_seed.unwrap_or(0),
            missing: self.missing.map_or(MissingRows::Refuse, Missing::rows),
        }
    }

    /// Audits tables: labels first, then a sample of the rows, then every row, block by block.
    pub(super) fn of_tables(&self, named: &[PathBuf], screen: &Screen) -> Outcome<(Findings, AuditRows)> {
        let files = find_tables(named)?;
        if self.probs.is_empty() {
            let (first, more) = (files[0].display(), files.len() - 1);
            let others = if more > 0 { format!(" and {more} more") } else { String::new() };
            screen.note(format!("{first}{others}: a model's probabilities beside labels; to train judges on such columns, name them with --judges"));
        }
        let opened = ProbabilityTables::open(&files, self.table_options()).map_err(|error| {
            let failure = Failure::from(error);
            let text = failure.to_string();
            let in_names = ["label", "class", "given", "y"].iter().any(|key| text.contains(&format!("/{key}=")));
            match (text.contains("label column"), text.contains("has no label")) {
                (true, _) if in_names => {
                    failure.way_out("names of folders are not read: write the label into the files, as a column")
                }
                (true, _) => failure.way_out("name the column with --label, or add --labels FILE, or name the data"),
                (false, true) => failure.way_out("correct the row, or leave out such rows with --missing skip"),
                (false, false) => failure,
            }
        });
        let mut tables = opened?.with_classes()?;
        say_columns(&tables.columns, tables.names.as_deref(), &tables.agreed.classes, screen);
        let Agreed { classes, given } = std::mem::take(&mut tables.agreed);
        let mut rows = AuditRows { classes, given, ..AuditRows::default() };
        if let Some(ids) = tables.ids.as_ref().filter(|_| self.truth.is_some()) {
            rows.named = Some(ids.of_rows(None)?);
        }
        self.read_truth(&mut rows)?;
        let origin = named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let ids = tables.ids.as_ref().map(|ids| ids as &dyn RowIds);
        let findings = self.audit_file(&tables.file, &rows, origin, ids, screen);
        let findings = findings.map_err(|failure| in_file(failure, &tables))?;
        rows.named = tables.ids.as_ref().map(|ids| named_rows(ids, &findings, rows.given.len())).transpose()?;
        Ok((findings, rows))
    }
}

/// The ids of all rows where all are written, else of the suspects.
fn named_rows(ids: &TableIds, findings: &Findings, rows: usize) -> Outcome<NamedRows> {
    if rows <= MOST_TABLE_ROWS {
        return Ok(ids.of_rows(None)?);
    }
    let mut suspects: Vec<usize> = findings.suspects.iter().map(|suspect| suspect.index).collect();
    suspects.sort_unstable();
    Ok(ids.of_rows(Some(&suspects))?)
}

/// Adds to an error about a row the file, and the row's number in that file.
fn in_file(failure: Failure, tables: &ClassTables) -> Failure {
    let text = failure.to_string();
    let Some((before, after)) = text.rsplit_once(" at row ") else {
        return normalisable(failure, Path::new("the tables"));
    };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let Ok(row) = after[..end].parse::<usize>() else { return failure };
    let (path, row) = tables.locate(row);
    let said = Failure::new(format!("{before} at row {row}{}", &after[end..]));
    match before.contains("must be a finite number, got NaN") {
        true => said.within(path.display()).way_out("correct the row, or leave out such rows with --missing skip"),
        false => normalisable(said, path),
    }
}
