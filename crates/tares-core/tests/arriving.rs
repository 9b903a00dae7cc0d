//! Rows that are made while others are read already.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tares_core::{Arrivals, Dataset, Error, Row, RowSource, Shape};

const ROWS: usize = 40;

/// Row `r` is `[r, 2 r]`. `open`: how many rows may be made in all before the source waits.
#[derive(Default)]
struct Doubled {
    broken: Vec<usize>,
    gate: Option<Arc<(Mutex<usize>, Condvar)>>,
    made: Arc<Mutex<Vec<usize>>>,
    /// Counts the sources that are alive.
    _alive: Arc<()>,
}

impl RowSource for Doubled {
    fn make(&self, row: usize, out: &mut [u8]) -> Result<(), String> {
        if let Some(gate) = &self.gate {
            let mut open = gate.0.lock().unwrap();
            while *open == 0 {
                open = gate.1.wait(open).unwrap();
            }
            *open -= 1;
        }
        self.made.lock().unwrap().push(row);
        out.copy_from_slice(&[row as u8, 2 * row as u8]);
        if self.broken.contains(&row) { Err(format!("{row} is broken")) } else { Ok(()) }
    }

    fn refusal(&self, failed: &[(usize, String)]) -> String {
        let why: Vec<&str> = failed.iter().map(|(_, why)| why.as_str()).collect();
        format!("{} rows: {}", failed.len(), why.join("; "))
    }
}

fn of(rows: Arrivals) -> Dataset {
    let labels = (0..rows.len() as u32).map(|row| row % 2).collect();
    Dataset::new(rows, Shape::Image { channels: 1, height: 1, width: 2 }, labels, ["a", "b"]).unwrap()
}

fn at_once() -> Dataset {
    let labels = (0..ROWS as u32).map(|row| row % 2).collect();
    let bytes: Vec<u8> = (0..ROWS as u8).flat_map(|row| [row, 2 * row]).collect();
    Dataset::new(bytes, Shape::Image { channels: 1, height: 1, width: 2 }, labels, ["a", "b"]).unwrap()
}

fn gate(open: usize) -> Arc<(Mutex<usize>, Condvar)> {
    Arc::new((Mutex::new(open), Condvar::new()))
}

fn open(gate: &(Mutex<usize>, Condvar), more: usize) {
    *gate.0.lock().unwrap() += more;
    gate.1.notify_all();
}

#[test]
fn rows_that_arrive_are_the_rows_that_were_there_before() {
    for threads in [0, 1, 2, 7] {
        let data = of(Arrivals::start(Doubled::default(), ROWS, 2, threads));
        assert!(data.is_bytes() && data.stored_rows() == ROWS);
        assert_eq!(data.row(7), Row::Bytes(&[7, 14]));
        let part = data.subset(&[30, 3]).unwrap();
        assert_eq!((part.row(0), part.row(1), part.stored(1)), (Row::Bytes(&[30, 60]), Row::Bytes(&[3, 6]), 3));
        assert!(data == at_once() && at_once() == data && data == of(Arrivals::start(Doubled::default(), ROWS, 2, 1)));
        assert_ne!(part, at_once().subset(&[30, 4]).unwrap());
        data.arrived().unwrap();
        assert_eq!(data.coming(), (0, ROWS));
        assert_eq!(data.copies(), at_once().copies());
    }
}

#[test]
fn two_parts_of_a_source_are_two_data_sets() {
    let (first, second) = Arrivals::start(Doubled::default(), ROWS, 2, 2).split_at(25);
    let (first, second) = (of(first), of(second));
    assert_eq!((first.len(), second.len(), second.stored_rows()), (25, 15, 15));
    assert_eq!((second.row(0), second.id(0)), (Row::Bytes(&[25, 50]), "0".to_owned()));
    second.arrived().unwrap();
    assert_eq!(first.coming(), (0, ROWS));
}

#[test]
fn a_row_is_there_before_the_others_are() {
    let gate = gate(3);
    let data = of(Arrivals::start(Doubled { gate: Some(gate.clone()), ..Doubled::default() }, ROWS, 2, 1));
    assert_eq!(data.row(1), Row::Bytes(&[1, 2]));
    assert!(data.coming().0 >= ROWS - 3 && data.sound().is_ok());
    open(&gate, ROWS);
    data.arrived().unwrap();
}

#[test]
fn what_is_wanted_comes_first_and_every_row_once() {
    let (gate, made) = (gate(0), Arc::<Mutex<Vec<usize>>>::default());
    let source = Doubled { gate: Some(gate.clone()), made: made.clone(), ..Doubled::default() };
    let data = of(Arrivals::start(source, ROWS, 2, 1));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(50) {
        std::thread::yield_now(); // the thread waits at the gate with row 0
    }
    let part = data.subset(&[39, 38, 37, 36]).unwrap();
    part.want([2, 0, 2].into_iter());
    open(&gate, ROWS);
    data.arrived().unwrap();
    let made = made.lock().unwrap();
    let place = |row: usize| made.iter().position(|&other| other == row).unwrap();
    // The thread that waits makes rows, too, so neighbours may change places.
    assert!(place(37) <= 2 && place(39) <= 3 && place(38) > 10, "{made:?}");
    let mut sorted = made.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..ROWS).collect::<Vec<_>>());
}

#[test]
fn broken_rows_are_blank_and_all_named() {
    let data = of(Arrivals::start(Doubled { broken: vec![31, 4], ..Doubled::default() }, ROWS, 2, 2));
    assert_eq!(data.row(31), Row::Bytes(&[0, 0]));
    let refused = Error::Unreadable("2 rows: 4 is broken; 31 is broken".into());
    assert_eq!(data.sound(), Err(refused.clone()), "one is known, so the others are looked for");
    assert_eq!(data.subset(&[0]).unwrap().arrived(), Err(refused));
}

#[test]
fn dropped_data_sets_end_their_threads_and_their_source() {
    let alive = Arc::new(());
    let gate = gate(5);
    let source = Doubled { gate: Some(gate.clone()), _alive: alive.clone(), ..Doubled::default() };
    let data = of(Arrivals::start(source, ROWS, 2, 2));
    let part = data.subset(&[1]).unwrap();
    drop(data);
    assert_eq!(part.row(0), Row::Bytes(&[1, 2]), "others still read it");
    open(&gate, 10);
    drop(part);
    assert_eq!(Arc::strong_count(&alive), 1, "the threads are gone, and the source with them");
    assert!(*gate.0.lock().unwrap() > 0, "and the rows that nobody reads were not made");
}

#[test]
fn a_source_is_let_go_when_all_its_rows_are_there() {
    let alive = Arc::new(());
    let data = of(Arrivals::start(Doubled { _alive: alive.clone(), ..Doubled::default() }, ROWS, 2, 2));
    data.arrived().unwrap();
    // A thread may be about to let go of it.
    let begun = Instant::now();
    while Arc::strong_count(&alive) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    assert_eq!(data.row(5), Row::Bytes(&[5, 10]));
}

#[test]
fn a_source_that_panics_panics_where_its_row_is_read() {
    struct Panics;
    impl RowSource for Panics {
        fn make(&self, row: usize, _: &mut [u8]) -> Result<(), String> {
            assert!(row != 3, "row 3");
            Ok(())
        }

        fn refusal(&self, _: &[(usize, String)]) -> String {
            String::new()
        }
    }
    let data = of(Arrivals::start(Panics, ROWS, 2, 2));
    assert_eq!(data.row(9), Row::Bytes(&[0, 0]));
    catch_unwind(AssertUnwindSafe(|| data.arrived())).unwrap_err();
}
