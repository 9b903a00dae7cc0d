//! `tares completions`: a script that completes commands and options in a shell.

use crate::command::{Cli, Exit};
use crate::ui::failure::Outcome;
use crate::ui::terminal::print;
use clap::{Args, CommandFactory};

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares completions bash > ~/.local/share/bash-completion/completions/tares
  tares completions zsh > ~/.zfunc/_tares
  tares completions fish > ~/.config/fish/completions/tares.fish")]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints the script.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn run(self) -> Outcome<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tares", &mut script);
        print(&script)?;
        Ok(Exit::Fine)
    }
}
