//! The command line. One file per subcommand: its arguments, its help with examples, and what it does.

pub mod apply_labels;
pub mod audit;
pub mod compare;
pub mod consensus;
pub mod corrupt;
pub mod data;
pub mod demo;
pub mod methods;
pub mod plan;
pub mod predict;
pub mod report;
pub mod reproduce;
pub mod shell;
pub mod source;
pub mod train;

use crate::ui::failure::Outcome;
use crate::ui::terminal::Screen;
use clap::{Parser, Subcommand};

/// Learn from labels that are partly wrong.
///
/// tares trains classifiers that stay accurate when many training labels are wrong, and finds the wrong labels.
#[derive(Debug, Parser)]
#[command(
    name = "tares",
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Examples:
  tares demo                                 see it work, in under two minutes
  tares train flowers.csv --label species    train on your own table
  tares train photos/ --out runs/photos      train on a folder of class folders
  tares audit flowers.csv --label species    which labels are wrong?
  tares compare --data digits --noise symmetric:0.5 --methods standard,npcl --seeds 3 --out runs/table

Data is a built-in name (see `tares data list`) or a path: a folder of class folders, an IDX, CIFAR, CSV, TSV,
Parquet, NPY or NPZ file, plain or gzipped.

Exit codes: 0 fine, 1 findings, 2 failure."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print results as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Print results and warnings only
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Train(Box<train::Train>),
    Audit(Box<audit::Audit>),
    Consensus(Box<consensus::ConsensusCommand>),
    ApplyLabels(apply_labels::ApplyLabels),
    Predict(predict::Predict),
    Corrupt(corrupt::Corrupt),
    Compare(Box<compare::Compare>),
    Report(report::Report),
    Reproduce(reproduce::Reproduce),
    Data(data::Data),
    Methods(methods::ListMethods),
    Completions(shell::completions::Completions),
    Man(shell::man::Man),
}

/// The exit code of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to report.
    Fine = 0,
    /// Something was found that a person should look at.
    Findings = 1,
}

/// Runs the command that was typed.
///
/// # Errors
/// The command failed.
pub fn run(cli: Cli) -> Outcome<Exit> {
    let screen = Screen::new(cli.json, cli.quiet);
    match cli.command {
        Command::Demo(command) => command.run(&screen),
        Command::Train(command) => command.run(&screen),
        Command::Audit(command) => command.run(&screen),
        Command::Consensus(command) => command.run(&screen),
        Command::ApplyLabels(command) => command.run(&screen),
        Command::Predict(command) => command.run(&screen),
        Command::Corrupt(command) => command.run(&screen),
        Command::Compare(command) => command.run(&screen),
        Command::Report(command) => command.run(&screen),
        Command::Reproduce(command) => command.run(&screen),
        Command::Data(command) => command.run(&screen),
        Command::Methods(command) => command.run(&screen),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_examples_in_its_help() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has no examples", command.get_name());
        }
    }
}
