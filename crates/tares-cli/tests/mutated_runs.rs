//! Run files that were damaged, or written by somebody who means harm: an error, never a panic, an abort or a huge
//! allocation. Thousands of mutations per run; a failing one prints its seed, `TARES_SEED=17` runs it alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tares::{Control, Fit, Method, Plan};
use tares_cli::audit::run_history::RunHistory;
use tares_cli::record::{RunRecord, in_order};
use tares_cli::report;
use tares_cli::run::directory::RunDirectory;
use tares_cli::run::directory::same_run::DataHash;
use tares_cli::run::model::Model;
use tares_cli::run::spec::Spec;
use tares_cli::run::spec_file;
use tares_cli::run::train::{Start, run_in};
use tares_core::{Fingerprint, Stream, stream};
use tares_data::{LoadOptions, Loaded};

/// No reader of a small run needs more at once.
const MOST_BYTES: usize = 1 << 30;

/// The largest allocation that was asked for.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Watching;

#[allow(unsafe_code)] // a global allocator cannot be written without; it only looks and passes on
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// A finished run, and the checkpoint it had after its first epoch.
struct Tiny {
    folder: tempfile::TempDir,
    loaded: Loaded,
    checkpoint: Vec<u8>,
}

impl Tiny {
    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }
}

/// Sixty rows of two numbers and a colour, in three classes.
fn tiny(method: &str, noise: &str) -> Tiny {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let row = |i: usize| format!("{}.5,{},{},{}\n", i % 3, i % 7, ["red", "blue"][i % 2], ["a", "b", "c"][i % 3]);
    fs::write(&path, format!("x,y,colour,class\n{}", (0..60).map(row).collect::<String>())).unwrap();
    let text = format!(
        "version = 1\ndata = {:?}\nnoise = \"{noise}\"\nnoise-rate = 0.25\nnetwork = \"mlp:4\"\nmethod = \"{method}\"\n\n\
         [plan]\nepochs = 2\nbatch = 16\n",
        path.to_str().unwrap()
    );
    let spec: Spec = spec_file::parse(&text).unwrap();
    let loaded = tares_data::load(&spec.source(), &spec.options(), &mut |_| {}).unwrap();
    let directory = RunDirectory::lock(&folder.path().join("run")).unwrap();
    run_in(&directory, &spec, &loaded, &DataHash::of(&loaded), None, Start::New, &|_| {}).unwrap();
    drop(directory);
    let train = spec.noise.corrupt(&loaded.train, spec.plan.seed, &LoadOptions::default(), "cpu", &|_| {}).unwrap();
    let told = method.parse::<Method>().unwrap().with_rate(0.25);
    let mut checkpoint = Vec::new();
    Fit::new(&train, &told, &spec.plan)
        .test(loaded.test.as_ref().unwrap())
        .on_epoch(|progress| {
            checkpoint = progress.checkpoint().unwrap().to_bytes();
            Control::Stop
        })
        .train_network(&"mlp:4".parse().unwrap())
        .unwrap();
    Tiny { folder, loaded, checkpoint }
}

/// Everything that reads a run, one after the other. Errors are fine.
fn read_all(tiny: &Tiny) {
    let run = tiny.run();
    if let Ok(record) = RunRecord::read(&run) {
        let records = [record];
        let _ = report::page::page("title", &records);
        let _ = report::title(&records);
        let _ = in_order(records[0].manifest.data.classes.iter());
    }
    if let Ok(model) = Model::read(&run) {
        let rows = tiny.folder.path().join("rows.csv");
        let options = LoadOptions::default();
        if let Ok(rows) = tares_data::load_with(rows.to_str().unwrap(), &model.reading, &options, &mut |_| {}) {
            let _ = model.probabilities(&run, &rows.data, "cpu");
        }
        // A model of pictures reads folders.
        let _ = tares_data::load_with(run.to_str().unwrap(), &model.reading, &options, &mut |_| {});
    }
    if let Ok(history) = RunHistory::read(&run) {
        let _ = history.judge();
    }
}

/// Goes on with the run, as `tares train --resume` does.
fn go_on(tiny: &Tiny) {
    let Ok(spec) = spec_file::read::<Spec>(&tiny.run().join("spec.toml")) else { return };
    // A changed number of epochs is an honest wish, only too long for a test.
    if spec.check().is_ok() && spec.plan.epochs <= 4 {
        let directory = RunDirectory::lock(&tiny.run()).unwrap();
        let _ = run_in(&directory, &spec, &tiny.loaded, &DataHash::of(&tiny.loaded), None, Start::Resume, &|_| {});
    }
}

/// Numbers and names that files should not hold.
const NASTY: [&str; 14] = [
    "0",
    "-1",
    "1",
    "3",
    "1e308",
    "-1e308",
    "4294967296",
    "99999999999",
    "18446744073709551615",
    "0.5",
    "null",
    "[]",
    "\"\"",
    "\"mlp:99999999999\"",
];

/// One random change.
fn mutated(bytes: &[u8], text: bool, draw: &mut Stream) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = draw.below(out.len().max(1)).min(out.len().saturating_sub(1));
    let end = (at + 1 + draw.below(24)).min(out.len());
    match draw.below(if text { 8 } else { 5 }) {
        0 => out[at] ^= 1 << draw.below(8),
        1 => out[at] = draw.below(256) as u8,
        2 => out.truncate(at),
        3 => drop(out.drain(at..end)),
        4 => {
            let part = out[at..end].to_vec();
            out.splice(at..at, part);
        }
        // A whole number or word of the text becomes another one.
        _ => {
            let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let start = (at..out.len()).find(|&i| word(&out[i])).unwrap_or(at);
            let from = (0..=start).rev().find(|&i| !word(&out[i])).map_or(0, |i| i + 1);
            let to = (start..out.len()).find(|&i| !word(&out[i])).unwrap_or(out.len());
            if from <= to {
                out.splice(from..to, NASTY[draw.below(NASTY.len())].bytes());
            }
        }
    }
    out
}

/// The checksum at the end of a checkpoint, made right again.
fn repaired(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(body) = bytes.len().checked_sub(8) else { return bytes };
    let sum = Fingerprint::of_bytes(&bytes[..body]).value();
    bytes[body..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Changes one file `times` times and does `read` with each; the file is whole again afterwards.
fn attack(tiny: &Tiny, file: &str, times: u64, change: &dyn Fn(&[u8], &mut Stream) -> Vec<u8>, read: &dyn Fn(&Tiny)) {
    let path = tiny.run().join(file);
    let whole = fs::read(&path).unwrap();
    let alone = std::env::var("TARES_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut failed = Vec::new();
    for seed in alone.map_or(0..times, |seed| seed..seed + 1) {
        fs::write(&path, change(&whole, &mut stream(seed, file))).unwrap();
        if alone.is_some() {
            eprintln!("{file}, seed {seed}:\n{}", String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
        LARGEST.store(0, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| read(tiny)));
        let largest = LARGEST.load(Ordering::Relaxed);
        if outcome.is_err() || largest > MOST_BYTES {
            failed.push((seed, outcome.is_err(), largest));
        }
    }
    fs::write(&path, &whole).unwrap();
    assert!(failed.is_empty(), "{file}: (seed, panicked, largest allocation): {failed:?}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn no_damaged_file_of_a_finished_run_makes_a_reader_panic() {
    for (method, times) in [("npcl", 1000), ("rog", 400)] {
        let tiny = tiny(method, "symmetric:0.2");
        for file in ["manifest.json", "epochs.jsonl", "gallery.json", "model.json"] {
            attack(&tiny, file, times, &|bytes, draw| mutated(bytes, true, draw), &read_all);
        }
        for file in ["samples.parquet", "model.safetensors"] {
            attack(&tiny, file, times / 2, &|bytes, draw| mutated(bytes, false, draw), &read_all);
        }
    }
}

#[test]
fn no_damaged_file_of_an_unfinished_run_makes_resuming_panic() {
    for (method, times) in [("npcl", 300), ("elr", 60), ("truncated-gce", 60), ("co-teaching", 60), ("d2l", 60)] {
        let tiny = tiny(method, "symmetric:0.2");
        let run = tiny.run();
        let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
        fs::write(run.join("manifest.json"), manifest.replace("\"finished\"", "\"unfinished\"")).unwrap();
        fs::write(run.join("checkpoint.bin"), &tiny.checkpoint).unwrap();
        let kept = tiny.folder.path().join("kept");
        copy(&run, &kept);
        let again = |change: &dyn Fn(&[u8], &mut Stream) -> Vec<u8>, file: &str, times: u64| {
            attack(&tiny, file, times, change, &|tiny| {
                go_on(tiny);
                copy(&kept, &tiny.run());
            });
            copy(&kept, &run);
        };
        again(&|bytes, draw| repaired(mutated(bytes, false, draw)), "checkpoint.bin", times);
        again(&|bytes, draw| mutated(bytes, true, draw), "spec.toml", times / 2);
        again(&|bytes, draw| mutated(bytes, true, draw), "manifest.json", times / 4);
    }
}

#[test]
fn a_checkpoint_whose_checksum_was_repaired_is_whole_again() {
    // Otherwise the attack above would only ever test the checksum.
    let tiny = tiny("npcl", "symmetric:0.2");
    assert_eq!(repaired(tiny.checkpoint.clone()), tiny.checkpoint);
    let plan = Plan { epochs: 2, batch: 16, ..Plan::default() };
    let mut changed = tiny.checkpoint.clone();
    let at = changed.windows(8).position(|part| part == b"moment 0").unwrap();
    changed[at + 7] = b'9';
    assert!(tares::Checkpoint::from_bytes(&changed).unwrap_err().to_string().contains("checksum"));
    let checkpoint = tares::Checkpoint::from_bytes(&repaired(changed)).unwrap();
    let told = "npcl".parse::<Method>().unwrap().with_rate(0.25);
    let train = "symmetric:0.2".parse::<tares_cli::run::label_noise::LabelNoise>().unwrap();
    let train = train.corrupt(&tiny.loaded.train, 1, &LoadOptions::default(), "cpu", &|_| {}).unwrap();
    let error = Fit::new(&train, &told, &plan).resume(checkpoint).train_network(&"mlp:4".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("moment 0"), "{error}");
}
