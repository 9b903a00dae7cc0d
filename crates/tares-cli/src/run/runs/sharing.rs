//! [`Sharing`]: the options with which several processes share the runs of one directory.

use super::cost::{costs, duration};
use super::{RunProgress, Shard, place};
use crate::record::RunRecord;
use crate::run::experiment::Experiment;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::Path;
use tares_data::Loaded;

/// Which part of the runs this process does.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Many machines")]
pub struct Sharing {
    /// Do only the I-th of N parts of the runs; processes with other parts may share --out
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// List the runs with what they will cost, and train none
    #[arg(long)]
    pub dry_run: bool,
}

impl Sharing {
    /// The runs of this process.
    pub fn part(&self, runs: &[Spec]) -> Vec<Spec> {
        self.shard.map_or_else(|| runs.to_vec(), |shard| shard.of(runs))
    }

    /// # Errors
    /// Earlier runs are to be deleted, though other processes may be at work on theirs.
    pub fn refuse_overwrite(&self, overwrite: bool) -> Outcome<()> {
        match (self.shard, overwrite) {
            (Some(_), true) => Err(Failure::new("--overwrite would delete what other parts have done")
                .way_out("leave it out, and remove the directory before the first part begins")),
            _ => Ok(()),
        }
    }

    /// Refuses a directory that other parts share for another comparison.
    ///
    /// # Errors
    /// It has other settings, or cannot be read.
    pub fn same_experiment(&self, file: &Path, now: &Experiment) -> Outcome<()> {
        if self.shard.is_none() || !file.exists() {
            return Ok(());
        }
        let before: Experiment = spec_file::read(file)?;
        let (before, now) = (spec_file::to_toml(&before)?, spec_file::to_toml(now)?);
        if before == now {
            return Ok(());
        }
        let change = before.lines().zip(now.lines()).find(|(before, now)| before != now);
        let (before, now) = change.unwrap_or(("other settings", "these settings"));
        let text = format!("{}: all parts must have the same settings: `{before}` there, `{now}` here", file.display());
        Err(Failure::new(text).way_out("repeat the same command with another --shard, or choose another --out"))
    }

    /// Prints the runs, how far they are and what they will cost.
    ///
    /// # Errors
    /// A value that does not fit the data; stdout cannot be written.
    pub fn print_costs(&self, runs: &[Spec], loaded: &Loaded, out: &Path, screen: &Screen) -> Outcome<()> {
        screen.note("measuring a few batches of each method; nothing is kept ...");
        let costs = costs(runs, loaded, out, &|doing| screen.note(format!("  {}", plain(doing))))?;
        let widest = costs.iter().map(|cost| cost.progress.run.chars().count()).max().unwrap_or(0);
        for cost in &costs {
            let left = match (cost.progress.finished, cost.seconds_left) {
                (true, _) => String::new(),
                (false, Some(seconds)) if cost.seconds_before > 0.0 => format!(
                    "; {} left, {} of them before its first epoch",
                    duration(seconds),
                    duration(cost.seconds_before)
                ),
                (false, Some(seconds)) => format!("; {} left", duration(seconds)),
                (false, None) => "; cost not known".to_owned(),
            };
            let run = plain(&cost.progress.run).into_owned();
            screen.line(format!("{run:<widest$}  {}{left}", cost.progress.sentence()))?;
        }
        let total: f64 = costs.iter().filter_map(|cost| cost.seconds_left).sum();
        let unknown = costs.iter().filter(|cost| cost.seconds_left.is_none()).count();
        let more = if unknown > 0 { format!(", and {unknown} runs whose cost is not known") } else { String::new() };
        let part = self.shard.map_or_else(String::new, |shard| format!(", part {shard}"));
        screen.line(format!("{} runs{part}: {} on this machine{more}", costs.len(), duration(total)))?;
        screen.result(|| serde_json::json!({ "runs": costs, "seconds_left": total }))
    }

    /// The records of all runs, if all are finished; otherwise prints what is missing. Without parts, `records` holds all runs.
    ///
    /// # Errors
    /// A run that is damaged; stdout cannot be written.
    pub fn all_records(
        &self,
        all: &[Spec],
        records: Vec<RunRecord>,
        out: &Path,
        screen: &Screen,
    ) -> Outcome<Option<Vec<RunRecord>>> {
        let Some(shard) = self.shard else { return Ok(Some(records)) };
        let progress: Vec<RunProgress> = all.iter().map(|spec| RunProgress::of(out, spec)).collect();
        let finished = progress.iter().filter(|run| run.finished).count();
        screen.line(format!(
            "part {shard}: its {} runs are finished; {finished} of all {} are",
            records.len(),
            all.len()
        ))?;
        if finished == all.len() {
            let read = all.iter().map(|spec| RunRecord::read(&place(out, spec))).collect::<Outcome<Vec<_>>>()?;
            return Ok(Some(read));
        }
        screen.line(format!(
            "the last part to end writes the report; before that: tares report {}",
            plain(&out.display().to_string())
        ))?;
        let missing: Vec<&RunProgress> = progress.iter().filter(|run| !run.finished).collect();
        screen.result(|| serde_json::json!({ "out": json_path(out), "finished": finished, "missing": missing }))?;
        Ok(None)
    }
}
