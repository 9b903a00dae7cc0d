//! The program `tares`: what was typed → what it means → a run on disk → a report.
//!
//! [`command`] has one file per subcommand; [`run`] trains and leaves a run directory behind, [`record`] is that directory
//! as plain data; [`judges`] say what they think of labels, [`audit`] finds the wrong ones; [`report`] turns records into tables, pictures and pages, purely. Only
//! this crate prints, and only through [`ui`].

pub mod audit;
pub mod command;
pub mod files;
pub mod json;
pub mod judges;
pub mod record;
pub mod report;
pub mod run;
pub mod ui;

use clap::Parser;
use std::process::ExitCode;

/// Runs the program on the process's arguments. No panic gets past this function.
pub fn main() -> ExitCode {
    ui::panic::remember();
    let outcome = std::panic::catch_unwind(|| {
        let cli = command::Cli::parse();
        command::run(cli)
    });
    match outcome {
        Ok(Ok(exit)) => ExitCode::from(exit as u8),
        Ok(Err(failure)) => {
            ui::terminal::print_failure(&failure);
            ExitCode::from(failure.exit_code())
        }
        Err(_) => {
            ui::terminal::print_failure(&ui::panic::failure());
            ExitCode::from(2)
        }
    }
}
