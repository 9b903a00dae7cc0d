//! Runs the real binary, and makes small data for it.

#![allow(dead_code)] // each test file uses its own part

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a run of the program printed, and how it ended.
pub struct Ran {
    what: String,
    output: Output,
}

/// The program with these arguments, without anything of the caller's terminal.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tares"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("TARES_DATA").stdin(Stdio::null());
    // What a test makes stays out of the user's cache.
    command.env("TARES_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// Runs the program.
pub fn tares(arguments: &[&str]) -> Ran {
    ran(command(arguments))
}

/// Runs the program in a directory.
pub fn tares_in(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    command.current_dir(directory);
    ran(command)
}

/// Runs a prepared command.
pub fn ran(mut command: Command) -> Ran {
    Ran { what: format!("{command:?}"), output: command.output().unwrap() }
}

/// Starts the program in a directory and leaves it running; its output goes nowhere.
pub fn start(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Stops a program with Ctrl-C, checks that it ends as it should, and gives what it said.
#[cfg(unix)]
pub fn interrupt(child: Child) -> String {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{notes}");
    notes
}

/// Stops a program with Ctrl-C as soon as it has written `file`.
#[cfg(unix)]
pub fn interrupt_after(mut child: Child, file: &Path) -> String {
    wait_until(&file.display().to_string(), || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        file.exists()
    });
    interrupt(child)
}

/// Runs a command whose output goes nowhere. Gives its exit code and its peak resident kilobytes, as Linux counts them.
pub fn peak(mut command: Command) -> (Option<i32>, u64) {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let said = std::fs::read_to_string(&status).unwrap_or_default();
        let line = said.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        std::thread::yield_now();
    }
    (child.wait().unwrap().code(), peak)
}

/// A grey picture of 4 x 4 pixels of one shade, as a PNG file.
pub fn picture(shade: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 4, 4);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[shade; 16]).unwrap();
    bytes
}

/// Six pictures in each of two class folders, with the same file names in both.
pub fn photos(folder: &Path) {
    for (number, class) in ["cat", "dog"].iter().enumerate() {
        std::fs::create_dir_all(folder.join(class)).unwrap();
        for i in 0..6u8 {
            std::fs::write(folder.join(class).join(format!("{i}.png")), picture(100 * number as u8 + i)).unwrap();
        }
    }
}

/// Waits until something holds, up to two minutes.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited two minutes for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Ran {
    /// How it ended.
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    /// Stdout of a run that ended with 0.
    pub fn success(self) -> String {
        self.ends(0).0
    }

    /// Stderr of a run that ended with `code`.
    pub fn fails(self, code: i32) -> String {
        self.ends(code).1
    }

    /// Stdout and stderr of a run that ended with `code`, without a panic on the way.
    pub fn ends(self, code: i32) -> (String, String) {
        let (out, err) = (text(&self.output.stdout), text(&self.output.stderr));
        assert_eq!(self.output.status.code(), Some(code), "{}\n{out}\n{err}", self.what);
        assert!(!err.contains("internal error") && !err.contains("panicked"), "{}\n{err}", self.what);
        (out, err)
    }

    /// Stdout of a run that ended with 0, as JSON.
    pub fn json(self) -> serde_json::Value {
        let out = self.success();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
    }
}

/// A table of three classes that are easy to tell apart: two numbers, a colour, and the class by name.
pub fn flowers(directory: &Path, rows: usize, classes: [&str; 3]) -> PathBuf {
    let mut text = String::from("length,width,colour,species\n");
    let mut state = 7u64;
    let mut noise = || {
        // A small generator of our own: the file is the same on every machine.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    for row in 0..rows {
        let class = row % 3;
        let (length, width) = (1.0 + 2.0 * class as f64 + noise(), 3.0 - class as f64 + noise());
        let colour = ["red", "blue"][row / 3 % 2];
        let name = classes[class].replace('"', "\"\"");
        writeln!(text, "{length:.3},{width:.3},{colour},\"{name}\"").unwrap();
    }
    let path = directory.join("flowers.csv");
    std::fs::write(&path, text).unwrap();
    path
}

/// Messages of two classes in `messages.csv` (label, message), every tenth label wrong, and the true ones in `truth.csv`.
pub fn messages(directory: &Path, rows: usize) -> PathBuf {
    const SPAM: [&str; 6] = ["win", "prize", "claim", "free", "offer", "urgent"];
    const HAM: [&str; 6] = ["lunch", "home", "tomorrow", "meeting", "thanks", "dinner"];
    const BOTH: [&str; 8] = ["you", "the", "now", "call", "is", "for", "at", "please"];
    let (mut text, mut truth) = (String::from("label,message\n"), String::from("truth\n"));
    let mut draw = tares_core::stream(3, "messages");
    for row in 0..rows {
        let (kind, other, words) = if draw.chance(0.5) { ("spam", "ham", SPAM) } else { ("ham", "spam", HAM) };
        let mut message: Vec<&str> = (0..6).map(|_| BOTH[draw.below(8)]).collect();
        (0..3).for_each(|_| message.insert(draw.below(6), words[draw.below(6)]));
        let label = if row % 10 == 3 { other } else { kind };
        writeln!(text, "{label},{} {row}", message.join(" ")).unwrap();
        writeln!(truth, "{kind}").unwrap();
    }
    let path = directory.join("messages.csv");
    std::fs::write(&path, text).unwrap();
    std::fs::write(directory.join("truth.csv"), truth).unwrap();
    path
}

/// The lines of `epochs.jsonl` without the seconds, which no two runs share.
pub fn epochs(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("epochs.jsonl")).unwrap();
    let line = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().remove("seconds");
        value
    };
    text.lines().map(line).collect()
}

/// A JSON file.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
