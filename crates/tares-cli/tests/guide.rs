//! Every command in the guide and in the README runs as it is written, in the order of its page.

mod program;

use program::{command, flowers, messages};
use std::path::{Path, PathBuf};

#[test]
fn every_command_in_the_guide_runs() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = markdown(&root.join("docs"));
    pages.push(root.join("README.md"));
    let mut count = 0;
    for page in pages {
        let commands = shell_commands(&std::fs::read_to_string(&page).unwrap());
        if commands.is_empty() {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        furnish(place.path());
        for line in commands {
            let words = words(&line);
            let mut program = command(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
            program.current_dir(place.path()).env("TARES_CACHE", place.path().join("cache"));
            let output = program.output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            // 1 is a finding, which is what an audit is for.
            let fine = matches!(output.status.code(), Some(0 | 1));
            assert!(fine && !error.contains("error:"), "{}: {line}\n{error}", page.display());
            count += 1;
        }
    }
    println!("{count} commands");
    assert!(count >= 25, "only {count} commands were found: has the form of the pages changed?");
}

/// Every command is documented, and every page is about a command.
#[test]
fn every_command_has_a_page() {
    let help = program::tares(&["--help"]).success();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
    for line in listed {
        let name = line.split_whitespace().next().unwrap();
        let page = if matches!(name, "completions" | "man") { "shell" } else { name };
        if name != "help" {
            assert!(directory.join(format!("{page}.md")).is_file(), "docs/commands/{page}.md is missing");
        }
    }
}

/// All pages below a directory, in order.
fn markdown(directory: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(markdown(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// The lines that begin with `tares` in blocks marked `sh`, comments cut off, continued lines joined.
fn shell_commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            inside = !inside && line.trim() == "```sh";
        } else if inside {
            let line = line.split(" #").next().unwrap_or("").trim();
            if line.starts_with("tares ") {
                commands.push(line.to_owned());
            }
        }
    }
    commands
}

/// Words as a shell takes them, with double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What the guide's README promises to be there.
fn furnish(place: &Path) {
    flowers(place, 300, ["iris", "rose", "tulip"]);
    messages(place, 300);
    crowd(place, 300, ["iris", "rose", "tulip"]);
    std::fs::write(place.join("new.csv"), "colour,width,length\nred,3.0,1.0\nblue,1.0,5.0\n").unwrap();
    let files = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tares-backbone/tests/files");
    std::fs::copy(files.join("classifier.onnx"), place.join("model.onnx")).unwrap();
    for (class, name) in ["cat", "dog", "owl"].iter().enumerate() {
        let folder = place.join("photos").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for number in 0..24u32 {
            std::fs::write(folder.join(format!("{number}.png")), stripes(class as u32, number)).unwrap();
        }
    }
}

/// Three people's answers to each row of `flowers.csv`: one is mostly right, one often, one guesses.
fn crowd(place: &Path, rows: usize, classes: [&str; 3]) {
    let mut draw = tares_core::stream(4, "crowd");
    let mut text = String::from("item,who,answer\n");
    for row in 0..rows {
        for (who, right) in [("ann", 0.95), ("bob", 0.8), ("eve", 0.4)] {
            let class = if draw.chance(right) { row % 3 } else { draw.below(3) };
            text.push_str(&format!("{row},{who},{}\n", classes[class]));
        }
    }
    std::fs::write(place.join("crowd.csv"), text).unwrap();
}

/// A 16 × 16 picture whose stripes tell its class: along, across, or diagonal.
fn stripes(class: u32, number: u32) -> Vec<u8> {
    let pixel = |y: u32, x: u32| {
        let at = [y, x, x + y][class as usize] + number;
        ((at / 2 % 2 * 180) as u8).wrapping_add((number * 3) as u8 % 60)
    };
    let pixels: Vec<u8> = (0..16).flat_map(|y| (0..16).map(move |x| pixel(y, x))).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 16, 16);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}
