//! Training on a soft consensus: `tares train --annotators`.
//!
//! The consensus is computed from a table of answers, or read from a directory that `tares consensus` wrote. Networks draw each
//! row's label anew in every epoch, by its class probabilities; models of columns weight each row by the probability of its label.

use super::crowd::Crowd;
use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;
use tares_core::annotate::{Pooling, consensus};
use tares_core::{Dataset, Label};
use tares_data::Loaded;
use tares_data::crowd::CrowdOptions;
use tares_data::npy::Stored;

/// A soft consensus, and the names of its columns.
struct Soft {
    classes: Vec<String>,
    /// `[row][class]`.
    posterior: Vec<f32>,
    /// Whether somebody answered the row.
    answered: Vec<bool>,
}

/// The data with the consensus as its labels. Rows that nobody answered are left out of training.
///
/// # Errors
/// A consensus that cannot be read or is not about these rows and classes.
pub fn with_consensus(mut loaded: Loaded, annotators: &str) -> Outcome<(Loaded, String)> {
    let stored = super::crowd::all_rows(&loaded);
    let soft = match Path::new(annotators).join("posterior.npy").is_file() {
        true => Soft::written(Path::new(annotators))?,
        false => Soft::of_table(annotators, &loaded)?,
    };
    if soft.answered.len() != stored {
        return Err(Failure::new(format!(
            "{annotators}: is a consensus of {} rows, but the data has {stored}",
            soft.answered.len()
        )));
    }
    let order = soft.order(loaded.train.class_names(), annotators)?;
    let kept: Vec<usize> = (0..loaded.train.len()).filter(|&row| soft.answered[loaded.train.stored(row)]).collect();
    if kept.is_empty() {
        return Err(Failure::new(format!("{annotators}: no training row has an answer")));
    }
    let left_out = loaded.train.len() - kept.len();
    loaded.train = soft.applied(&loaded.train.subset(&kept)?, &order)?;
    let changed = format!(
        "labels are the consensus of {annotators}: {:.1} % sure on average{}",
        100.0 * loaded.train.certainty().map_or(1.0, |all| all.iter().sum::<f64>() / all.len() as f64),
        if left_out > 0 { format!("; {left_out} rows without an answer are left out") } else { String::new() }
    );
    loaded.found.train_rows = loaded.train.len();
    Ok((loaded, changed))
}

impl Soft {
    /// What `tares consensus` wrote.
    fn written(directory: &Path) -> Outcome<Self> {
        let path = directory.join("posterior.npy");
        let stored = Stored::open(&path)?;
        let mut posterior = vec![0f32; stored.rows() * stored.columns()];
        stored.read_rows(0, &mut posterior)?;
        let summary = directory.join("summary.json");
        let read: serde_json::Value = serde_json::from_str(&read_text(&summary)?)
            .map_err(|error| Failure::new(error).within(summary.display()))?;
        let classes: Option<Vec<String>> = read["classes"]
            .as_array()
            .and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        let classes = classes.filter(|classes| classes.len() == stored.columns() && !classes.is_empty());
        let classes = classes.ok_or_else(|| {
            Failure::new(format!("{}: does not name the classes of posterior.npy", summary.display()))
        })?;
        Ok(Self { classes, posterior, answered: vec![true; stored.rows()] })
    }

    /// The consensus of a table of answers about the rows of the data.
    fn of_table(source: &str, loaded: &Loaded) -> Outcome<Self> {
        let known = loaded.train.class_names();
        let (crowd, places) = Crowd::about(source, &CrowdOptions::default(), loaded, known)?;
        let found = consensus(&crowd, Pooling::Posterior)?;
        let mut answered = vec![false; crowd.rows()];
        places.iter().for_each(|&row| answered[row] = !crowd.of_row(row).is_empty());
        let posterior = found.posterior.iter().map(|&part| part as f32).collect();
        Ok(Self { classes: known.to_vec(), posterior, answered })
    }

    /// For every class of the data the column of the consensus.
    fn order(&self, classes: &[String], source: &str) -> Outcome<Vec<Option<usize>>> {
        if let Some(unknown) = self.classes.iter().find(|name| !classes.contains(name)) {
            return Err(Failure::new(format!("{source}: '{unknown}' is not one of the classes of the data"))
                .way_out("name the data's label column with --label"));
        }
        Ok(classes.iter().map(|name| self.classes.iter().position(|own| own == name)).collect())
    }

    fn applied(&self, rows: &Dataset, order: &[Option<usize>]) -> Outcome<Dataset> {
        let width = self.classes.len();
        let mut beliefs = Vec::with_capacity(rows.len() * order.len());
        let mut labels: Vec<Label> = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let own = &self.posterior[rows.stored(row) * width..][..width];
            let sum: f32 = own.iter().sum();
            let start = beliefs.len();
            beliefs.extend(order.iter().map(|place| place.map_or(0.0, |place| own[place] / sum)));
            let parts = &beliefs[start..];
            let best = (1..parts.len()).fold(0, |best, class| if parts[class] > parts[best] { class } else { best });
            labels.push(best as Label);
        }
        Ok(rows.clone().relabel(labels)?.with_beliefs(beliefs)?)
    }
}
