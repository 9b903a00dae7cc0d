//! Damaged files, by the ten thousand: no reader may panic or take memory on a header's word. Deterministic; a failing case
//! prints its reader, base file and seed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tares_core::{Stream, stream};
use tares_data::from_bytes::Reader;

/// Mutated files per reader.
const MUTANTS: usize = 20_000;

/// No single allocation may be larger.
const MOST: usize = 64 << 20;

/// Remembers the largest allocation and the largest sum of them.
struct Counting;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(size: usize) {
    LARGEST.fetch_max(size, Ordering::Relaxed);
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

/// Tests of this file share the allocator's memory of the largest allocation: one at a time.
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call is handed to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Changes one to four things about a file.
fn mutate(bytes: &mut Vec<u8>, stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = stream.below(bytes.len());
        let span = 1 + stream.below((bytes.len() - at).min(16));
        match stream.below(9) {
            0 => bytes[at] ^= 1 << stream.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b',', b'"'][stream.below(8)],
            2 => bytes[at] = stream.below(256) as u8,
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + span)),
            5 => {
                let copy = bytes[at..at + span].to_vec();
                let to = stream.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            6 => (0..span).for_each(|_| bytes.push(stream.below(256) as u8)),
            // A size, in either byte order, that is a lie.
            7 => {
                let size = [u32::MAX, i32::MAX as u32, 1 << 30, 1 << 24, 65_536, 0][stream.below(6)];
                let size = if stream.below(2) == 0 { size.to_le_bytes() } else { size.to_be_bytes() };
                bytes[at..].iter_mut().zip(size).for_each(|(byte, new)| *byte = new);
            }
            // A digit of a number in text.
            _ => {
                if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *digit = b'0' + stream.below(10) as u8;
                }
            }
        }
    }
}

/// Runs one reader over mutants of its files.
fn survive(reader: Reader, bases: &[&str]) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let bases: Vec<(&str, Vec<u8>)> = bases.iter().map(|name| (*name, file(name))).collect();
    for (name, bytes) in &bases {
        assert!(reader.rows(bytes.clone()).is_ok_and(|rows| rows > 0), "{name} itself must be readable");
    }
    let mut refused = 0;
    for seed in 0..MUTANTS {
        let (name, bytes) = &bases[seed % bases.len()];
        let mut bytes = bytes.clone();
        mutate(&mut bytes, &mut stream(seed as u64, "mutation"));
        LARGEST.store(0, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| reader.rows(bytes)));
        let largest = LARGEST.load(Ordering::Relaxed);
        assert!(largest <= MOST, "{reader:?}, {name}, seed {seed}: an allocation of {largest} bytes");
        match outcome {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
            Err(_) => panic!("{reader:?}, {name}, seed {seed}: panicked"),
        }
    }
    // If nearly nothing were refused, the mutants would be too tame to mean anything.
    assert!(refused > MUTANTS / 20, "{reader:?}: only {refused} of {MUTANTS} mutants were refused");
}

#[test]
fn idx_survives() {
    survive(Reader::Idx, &["idx/train-images-idx3-ubyte", "idx/train-labels-idx1-ubyte.gz"]);
}

#[test]
fn cifar_survives() {
    survive(Reader::Cifar, &["cifar10.bin", "cifar10.bin.gz"]);
}

#[test]
fn csv_survives() {
    survive(Reader::Csv, &["labelled.csv", "labelled.csv.gz"]);
}

#[test]
fn json_lines_survive() {
    survive(Reader::Jsonl, &["labelled.jsonl"]);
}

#[test]
fn parquet_survives() {
    let files = [
        "table-snappy",
        "table-zstd",
        "table-gzip",
        "table-lz4",
        "table-none",
        "table-groups",
        "odd-columns",
        "pictures",
    ];
    let files = files.map(|name| format!("{name}.parquet"));
    survive(Reader::Parquet, &files.each_ref().map(String::as_str));
}

#[test]
fn npy_survives() {
    survive(Reader::Npy, &["x.npy", "y.npy", "fortran.npy", "half.npy", "big-endian.npy"]);
}

#[test]
fn npz_survives() {
    survive(Reader::Npz, &["arrays.npz", "arrays-compressed.npz", "pictures.npz"]);
}

#[test]
fn human_labels_survive() {
    survive(Reader::Human, &["human.pt", "human.csv"]);
}

#[test]
fn pictures_survive() {
    survive(
        Reader::Picture,
        &["folder/cat/a.png", "folder/dog/b.png", "noise.jpg", "noise.webp", "noise.gif", "noise.bmp"],
    );
}

#[test]
fn archives_survive() {
    survive(Reader::Archive, &["folder.tar.gz", "folder.tar", "folder.zip"]);
}

/// CIFAR-10 has 60,000 · 3,072 bytes of pixels and stays bytes.
#[test]
fn cifar_10_takes_little_more_memory_than_its_pixels() {
    let Some(folder) = std::env::var_os("TARES_DATA") else {
        eprintln!("skipped: TARES_DATA is not set");
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let options = tares_data::LoadOptions::default().with(|options| options.data_dir = Some(folder.into()));
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let loaded = tares_data::load("cifar-10", &options, &mut |_| {}).unwrap();
    let (live, peak) = (LIVE.load(Ordering::Relaxed) - before, PEAK.load(Ordering::Relaxed) - before);
    let pixels = 60_000 * 3_072;
    assert_eq!(loaded.train.len() + loaded.test.as_ref().map_or(0, tares_core::Dataset::len), 60_000);
    assert!(
        live >= pixels && peak as f64 <= 1.15 * pixels as f64,
        "{live} bytes, at most {peak}, for {pixels} of pixels"
    );
}
