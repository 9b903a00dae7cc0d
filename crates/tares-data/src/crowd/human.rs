//! CIFAR-10N's three answers per picture, by name (`cifar-10n`) or as the authors' file.

use super::{CrowdAnswer, CrowdOptions, CrowdTable};
use crate::error::{DataError, Place, Result};
use crate::format::cifar::Layout;
use crate::format::cifar_n;
use crate::io::Input;
use crate::load::LoadOptions;
use std::path::Path;

/// The name of the set.
const NAME: &str = "cifar-10n";
const COLUMNS: [&str; 3] = ["random_label1", "random_label2", "random_label3"];
const ANNOTATORS: [&str; 3] = ["random1", "random2", "random3"];
const TRUTH: &str = "clean_label";

/// The answers, if `source` names CIFAR-10N.
pub(super) fn builtin(source: &str, options: &CrowdOptions) -> Result<Option<CrowdTable>> {
    let file = Path::new(source);
    let authors = file.file_name().is_some_and(|name| {
        ["CIFAR-10_human.pt", "CIFAR-10_human.pt.gz"].iter().any(|known| name.eq_ignore_ascii_case(known))
    });
    let path = match (source == NAME && !file.exists(), authors) {
        (true, _) => {
            let options = LoadOptions::default().with(|load| load.data_dir.clone_from(&options.data_dir));
            cifar_n::find(true, &options, Path::new(""))?
        }
        (false, true) => file.to_owned(),
        (false, false) => return Ok(None),
    };
    let columns = cifar_n::read(Input::open(&path)?)?;
    let classes = Layout::Ten.class_names();
    let column = |name: &str| {
        let labels = columns
            .get(name)
            .ok_or_else(|| DataError::format(&path, Place::File, format!("has no labels \"{name}\"")))?;
        let class = |(row, &label): (usize, &i64)| {
            u32::try_from(label).ok().filter(|&label| (label as usize) < classes.len()).ok_or_else(|| {
                let problem = format!("label must be in 0..{}, got {label}", classes.len());
                DataError::format(&path, Place::Row(row as u64), problem)
            })
        };
        labels.iter().enumerate().map(class).collect::<Result<Vec<u32>>>()
    };
    let given = COLUMNS.iter().map(|name| column(name)).collect::<Result<Vec<_>>>()?;
    let truth = column(TRUTH)?;
    let rows = truth.len();
    if given.iter().any(|column| column.len() != rows) {
        return Err(DataError::format(&path, Place::File, "has columns of different lengths"));
    }
    let answer = |row: usize, annotator: usize| CrowdAnswer {
        row: row as u32,
        annotator: annotator as u32,
        label: given[annotator][row],
    };
    Ok(Some(CrowdTable {
        path: path.clone(),
        rows: (0..rows).map(|row| row.to_string()).collect(),
        named: false,
        annotators: ANNOTATORS.map(str::to_owned).to_vec(),
        labels: classes.clone(),
        answers: (0..rows)
            .flat_map(|row| (0..3).map(move |annotator| (row, annotator)))
            .map(|(r, a)| answer(r, a))
            .collect(),
        truth: Some(truth),
        classes: Some(classes),
        notes: vec![
            "CIFAR-10N: three people per picture; each of the three columns holds the answers of many".to_owned(),
        ],
    }))
}
