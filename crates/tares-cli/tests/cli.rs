//! What holds for the program as a whole: help, completions, manual, exit codes, broken pipes.

mod program;

use program::tares;
use std::process::Stdio;

#[test]
fn help_fits_the_terminal_and_shows_examples() {
    let help = tares(&["--help"]).success();
    assert!(help.contains("tares demo") && help.contains("Exit codes"), "{help}");
}

#[test]
fn an_unknown_command_is_a_usage_error_with_a_suggestion() {
    let error = tares(&["repot"]).fails(2);
    assert!(error.contains("report"), "{error}");
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(tares(&["completions", shell]).success().contains("tares"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_per_command() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("man1");
    tares(&["man", "--out", directory.to_str().unwrap()]).success();
    for page in ["tares.1", "tares-report.1"] {
        assert!(std::fs::read_to_string(directory.join(page)).unwrap().contains(".SH NAME"), "{page}");
    }
    assert!(tares(&["man"]).success().contains(".TH tares"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child =
        program::command(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
