//! The program `tares`: from the command line to a run on disk, and from there to a report.
//!
//! [`command`] has one file per subcommand. [`run`] trains and writes a run directory; [`record`] is that directory as plain
//! data. [`backbone`] turns pictures into features. [`judges`] are models trained to judge labels, [`audit`] finds the wrong
//! labels, and [`consensus`] combines several labels per row into one. [`report`] turns records into tables, pictures and pages.
//! Of all crates only this one prints, and only through [`ui`].

pub mod audit;
pub mod backbone;
pub mod command;
pub mod consensus;
pub mod files;
pub mod json;
pub mod judges;
pub mod learner;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod ui;

use clap::Parser;
use std::process::ExitCode;

/// Runs the program with the arguments of the process. A panic becomes an error message here.
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
