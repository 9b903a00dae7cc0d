//! Lists the files of `recipes/`, so that a new recipe is one new file.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=recipes");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut names: Vec<String> = fs::read_dir(root.join("recipes"))
        .expect("recipes/ is part of the crate")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    let line = |name: &String| {
        let path = root.join("recipes").join(format!("{name}.toml"));
        format!("({name:?}, include_str!({path:?})),")
    };
    let list: Vec<String> = names.iter().map(line).collect();
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let text = format!("&[\n{}\n]\n", list.join("\n"));
    fs::write(Path::new(&out).join("recipes.rs"), text).expect("OUT_DIR can be written");
}
