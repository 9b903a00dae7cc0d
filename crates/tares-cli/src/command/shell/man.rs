//! `tares man`: the manual pages.

use crate::command::{Cli, Exit};
use crate::files::{create_directory, write_whole};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::print;
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Print the manual page, or write all of them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares man | man -l -
  tares man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Write tares.1 and one page per command into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    /// Prints or writes the pages.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn run(self) -> Outcome<Exit> {
        let mut program = Cli::command();
        program.build();
        let Some(directory) = self.out else {
            print(&page(&program)?)?;
            return Ok(Exit::Fine);
        };
        create_directory(&directory)?;
        write_whole(&directory.join("tares.1"), &page(&program)?)?;
        for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
            // Clap wants a name that lives as long as the program; leaking it is fine, because the program ends right after.
            let name: &'static str = format!("tares-{}", command.get_name()).leak();
            write_whole(&directory.join(format!("{name}.1")), &page(&command.clone().name(name))?)?;
        }
        Ok(Exit::Fine)
    }
}

fn page(command: &clap::Command) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(Failure::new)?;
    Ok(bytes)
}
