//! [`Arrivals`]: rows that are still being made, on threads of their own, while training begins with those that are there.
//!
//! ```text
//! RowSource → threads, in the order that was asked for → a place per row, filled once ← row(i): waits, or makes the row itself
//! ```
//! A row is either absent or whole, so whoever reads a row sees what he would have seen later. A row that cannot be made becomes
//! zeros, and [`Dataset::arrived`] is an error from then on: ask it before anything that was learnt from the rows is used.

use super::{Dataset, Features};
use crate::error::{Error, Result};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Makes rows of bytes, from several threads at once.
pub trait RowSource: Send + Sync {
    /// Writes the bytes of a row.
    ///
    /// # Errors
    /// Why the row cannot be made, in words.
    fn make(&self, row: usize, out: &mut [u8]) -> std::result::Result<(), String>;

    /// The error message about all rows that could not be made.
    fn refusal(&self, failed: &[(usize, String)]) -> String;
}

/// Rows of bytes that arrive one after the other; a range of all rows of their source. Cheap to clone. Its threads end when the last
/// clone is dropped.
#[derive(Clone)]
pub struct Arrivals {
    crew: Arc<Crew>,
    first: usize,
    len: usize,
}

impl Arrivals {
    /// Rows `0..len` of a source, `size` bytes each; `threads` begin to make them at once.
    pub fn start(source: impl RowSource + 'static, len: usize, size: usize, threads: usize) -> Self {
        let rows = Arc::new(Rows {
            size,
            places: (0..len).map(|_| OnceLock::new()).collect(),
            missing: AtomicUsize::new(len),
            source: Mutex::new(Some(Arc::new(source))),
            queue: Mutex::new((0..len as u32).collect::<Vec<_>>().into_iter()),
            failed: Mutex::default(),
            dropped: AtomicBool::new(false),
        });
        let work = |_| {
            let rows = rows.clone();
            // A system without another thread to give makes the rows where they are read.
            std::thread::Builder::new().name("rows".into()).spawn(move || rows.make_all(&rows.dropped)).ok()
        };
        let threads = (0..threads.min(len)).filter_map(work).collect();
        Self { crew: Arc::new(Crew { rows, threads }), first: 0, len }
    }

    /// The rows before `middle` and those from there on.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn split_at(self, middle: usize) -> (Self, Self) {
        assert!(middle <= self.len, "{middle} of {} rows", self.len);
        let rest = Self { crew: self.crew.clone(), first: self.first + middle, len: self.len - middle };
        (Self { len: middle, ..self }, rest)
    }

    /// How many rows there will be.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes per row.
    pub fn row_size(&self) -> usize {
        self.crew.rows.size
    }

    pub(super) fn row(&self, row: usize) -> &[u8] {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.crew.rows.row(self.first + row)
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.crew.rows.missing.load(Ordering::Relaxed);
        write!(f, "Arrivals({}..{}, {missing} of all missing)", self.first, self.first + self.len)
    }
}

/// The rows, and the threads that make them.
struct Crew {
    rows: Arc<Rows>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.rows.dropped.store(true, Ordering::Relaxed);
        // A thread that panicked has left its row to whoever reads it, who panics in turn.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

struct Rows {
    size: usize,
    places: Box<[OnceLock<Box<[u8]>>]>,
    missing: AtomicUsize,
    /// Gone with all that it holds once every row is there.
    source: Mutex<Option<Arc<dyn RowSource>>>,
    /// What the threads make next.
    queue: Mutex<std::vec::IntoIter<u32>>,
    failed: Mutex<Vec<(usize, String)>>,
    dropped: AtomicBool,
}

impl Rows {
    fn row(&self, row: usize) -> &[u8] {
        self.places[row].get_or_init(|| self.make(row))
    }

    fn make(&self, row: usize) -> Box<[u8]> {
        let mut bytes = vec![0; self.size].into_boxed_slice();
        let source = lock(&self.source).clone();
        if let Some(source) = &source
            && let Err(why) = source.make(row, &mut bytes)
        {
            bytes.fill(0);
            lock(&self.failed).push((row, why));
        }
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 && lock(&self.failed).is_empty() {
            *lock(&self.source) = None;
        }
        bytes
    }

    fn make_all(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let absent = |&row: &u32| self.places[row as usize].get().is_none();
            let Some(row) = lock(&self.queue).find(absent) else { return };
            self.row(row as usize);
        }
    }

    /// Makes these rows next, and the others after them.
    fn want(&self, wanted: impl Iterator<Item = usize>) {
        let mut there: Vec<bool> = self.places.iter().map(|place| place.get().is_some()).collect();
        let mut queue = lock(&self.queue);
        let mut order = Vec::with_capacity(queue.len());
        for row in wanted.chain(queue.as_slice().iter().map(|&row| row as usize)) {
            if !std::mem::replace(&mut there[row], true) {
                order.push(row as u32);
            }
        }
        *queue = order.into_iter();
    }

    fn is_whole(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0
    }

    /// Makes all rows that nobody is at, and waits for the others.
    fn wait(&self) {
        if !self.is_whole() {
            self.make_all(&AtomicBool::new(false));
            (0..self.places.len()).for_each(|row| _ = self.row(row));
        }
    }

    fn refusal(&self) -> Result<()> {
        let mut failed = lock(&self.failed).clone();
        if failed.is_empty() {
            return Ok(());
        }
        failed.sort_unstable();
        let source = lock(&self.source).clone();
        Err(Error::Unreadable(source.map_or_else(String::new, |source| source.refusal(&failed))))
    }
}

/// No thread leaves these halfway, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dataset {
    fn arrivals(&self) -> Option<&Arrivals> {
        match &self.features {
            Features::Arriving(arrivals) => Some(arrivals),
            _ => None,
        }
    }

    /// Waits until every row of the data set is there, and those that come from the same source. Costs nothing once they are.
    ///
    /// # Errors
    /// Rows that cannot be read: all of them.
    pub fn arrived(&self) -> Result<()> {
        let Some(Arrivals { crew, .. }) = self.arrivals() else { return Ok(()) };
        crew.rows.wait();
        crew.rows.refusal()
    }

    /// The error of [`arrived`](Self::arrived) as soon as it is certain; does not wait while all is well.
    ///
    /// # Errors
    /// Rows that cannot be read: all of them.
    pub fn sound(&self) -> Result<()> {
        match self.arrivals() {
            Some(Arrivals { crew, .. }) if !lock(&crew.rows.failed).is_empty() => self.arrived(),
            _ => Ok(()),
        }
    }

    /// How many rows of the source are still to come, and how many it has; (0, 0) for rows that do not have to arrive.
    pub fn coming(&self) -> (usize, usize) {
        let count =
            |Arrivals { crew, .. }: &Arrivals| (crew.rows.missing.load(Ordering::Acquire), crew.rows.places.len());
        self.arrivals().map_or((0, 0), count)
    }

    /// Says which rows will be read next, so that they arrive first.
    pub fn want(&self, rows: impl Iterator<Item = usize>) {
        if let Some(Arrivals { crew, first, .. }) = self.arrivals()
            && !crew.rows.is_whole()
        {
            crew.rows.want(rows.map(|row| first + self.stored(row)));
        }
    }
}
