//! The tutorial and the README of this crate can be copied word for word into a new project. Doc tests compile and run their
//! programs; here is what a doc test lets pass.

use std::path::PathBuf;

const PAGES: [&str; 2] = ["docs/tutorial-burn.md", "crates/tares/README.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page marked with this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_program_is_a_whole_file() {
    for page in PAGES {
        let programs = blocks(page, "rust");
        assert!(!programs.is_empty(), "{page} has no program");
        for program in programs {
            assert!(program.contains("fn main("), "{page}: a doc test would wrap this in a function:\n{program}");
            let hidden = program.lines().find(|line| line.starts_with("# ") || *line == "#");
            assert_eq!(hidden, None, "{page}: a doc test would hide this line");
        }
    }
}

#[test]
fn programs_use_only_the_dependencies_that_their_page_names() {
    for page in PAGES {
        let [manifest] = &blocks(page, "toml")[..] else { panic!("{page} must have one Cargo.toml") };
        let named: Vec<&str> = manifest.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        for program in blocks(page, "rust") {
            for line in program.lines().filter_map(|line| line.strip_prefix("use ")) {
                let package = line.split("::").next().unwrap();
                assert!(named.contains(&package) || package == "std", "{page}: {package} is not among {named:?}");
            }
        }
    }
}

#[test]
fn pages_name_the_version_of_burn_that_this_crate_needs() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("burn = ")).unwrap();
    let version = line.split('"').nth(1).unwrap();
    assert!(version.starts_with('='), "an exact version: {version}");
    for page in PAGES {
        let [toml] = &blocks(page, "toml")[..] else { panic!("{page} must have one Cargo.toml") };
        assert!(toml.contains(&format!("burn = {{ version = \"{version}\"")), "{page}: {version} is not in\n{toml}");
    }
    let library = std::fs::read_to_string(root().join("crates/tares/src/lib.rs")).unwrap();
    assert!(library.contains(&format!("burn = \"{version}\"")), "lib.rs: {version}");
}
