//! N × K out-of-sample probabilities, read in blocks of rows, so that they need not fit into memory.
//!
//! Numbers stay as their file has them (32 or 64 bits) until they are needed. Counting and confident learning widen them to
//! 64 bits, the default estimate rounds them to 32 bits, so the same numbers in either width give the same result.

use crate::error::{Error, Result};

/// A stored number: `f32` or `f64`, and no other type.
pub trait Number: Copy + Default + PartialOrd + Into<f64> + Send + Sync + sealed::Erase + 'static {
    /// Whether it is an `f32`.
    const NARROW: bool;
    /// The nearest 32-bit number.
    fn narrow(self) -> f32;
}

impl Number for f32 {
    const NARROW: bool = true;
    #[inline(always)]
    fn narrow(self) -> f32 {
        self
    }
}

impl Number for f64 {
    const NARROW: bool = false;
    #[inline(always)]
    fn narrow(self) -> f32 {
        self as f32
    }
}

/// Probabilities of either width.
///
/// Passes over rows are compiled in this crate, once per width, for every source of rows: a generic function would be
/// compiled in the caller's crate, with that crate's optimisation level.
pub(crate) mod sealed {
    use super::Probabilities;

    pub enum AnyWidth<'a> {
        Narrow(&'a (dyn Probabilities<Number = f32> + 'a)),
        Wide(&'a (dyn Probabilities<Number = f64> + 'a)),
    }

    pub trait Erase: Sized {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a>;
    }

    impl Erase for f32 {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a> {
            AnyWidth::Narrow(probs)
        }
    }

    impl Erase for f64 {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a> {
            AnyWidth::Wide(probs)
        }
    }
}

/// Predicted probabilities, one row per sample and one column per class, of a model that did not train on that row.
pub trait Probabilities: Sync {
    /// `f32` or `f64`.
    type Number: Number;

    /// N.
    fn rows(&self) -> usize;

    /// K.
    fn classes(&self) -> usize;

    /// Rows at which parts begin that are best read from their beginning, ascending, such as row groups of a file. None by default.
    fn natural_starts(&self) -> &[usize] {
        &[]
    }

    /// Writes rows `first..first + out.len() / K` into `out`, row after row.
    ///
    /// # Errors
    /// Whatever keeps the rows from being read.
    fn read(&self, first: usize, out: &mut [Self::Number]) -> Result<()>;

    /// The numbers of rows `first..first + rows`, where they lie side by side in memory anyway: nothing is copied then. None by default.
    fn in_memory(&self, first: usize, rows: usize) -> Option<&[Self::Number]> {
        let _ = (first, rows);
        None
    }

    /// Writes the rows `wanted` (ascending) into `out`, row after row. [`read_spans`] by default.
    ///
    /// # Errors
    /// Whatever keeps the rows from being read.
    fn read_rows(&self, wanted: &[usize], out: &mut [Self::Number]) -> Result<()> {
        read_spans(self, wanted, out)
    }
}

/// Reads single rows where reading a short gap between two of them is cheaper than a second read.
///
/// # Errors
/// Whatever keeps the rows from being read.
pub fn read_spans<P: Probabilities + ?Sized>(probs: &P, wanted: &[usize], out: &mut [P::Number]) -> Result<()> {
    let classes = probs.classes();
    let near = |pair: &[usize]| pair[1] - pair[0] <= (GAP / classes).max(1);
    let (mut at, mut span) = (0, Vec::new());
    while at < wanted.len() {
        let first = wanted[at];
        let mut stop = at + 1;
        while stop < wanted.len() && near(&wanted[stop - 1..=stop]) && (wanted[stop] - first) * classes < LONGEST {
            stop += 1;
        }
        span.resize((wanted[stop - 1] + 1 - first) * classes, P::Number::default());
        probs.read(first, &mut span)?;
        for (place, row) in wanted[at..stop].iter().enumerate() {
            let from = &span[(row - first) * classes..][..classes];
            out[(at + place) * classes..][..classes].copy_from_slice(from);
        }
        at = stop;
    }
    Ok(())
}

/// A gap of fewer numbers than this is read rather than skipped.
const GAP: usize = 1 << 10;

/// Numbers that are read at once.
const LONGEST: usize = 1 << 16;

/// Probabilities that lie in memory, row after row.
///
/// ```
/// use tares_core::estimate::{Probabilities, ProbabilityMatrix};
/// let table = ProbabilityMatrix::new(&[0.9f32, 0.1, 0.4, 0.6], 2)?;
/// assert_eq!((table.rows(), table.classes()), (2, 2));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProbabilityMatrix<'a, R> {
    values: &'a [R],
    classes: usize,
}

impl<'a, R> ProbabilityMatrix<'a, R> {
    /// Takes `values` as rows of `classes` numbers.
    ///
    /// # Errors
    /// Fewer than two classes; a last row that is not whole.
    pub fn new(values: &'a [R], classes: usize) -> Result<Self> {
        if classes < 2 {
            return Err(Error::value("number of classes", "at least 2", classes));
        }
        if !values.len().is_multiple_of(classes) {
            return Err(Error::value("number of probabilities", format!("a multiple of {classes}"), values.len()));
        }
        Ok(Self { values, classes })
    }
}

impl<R: Number> Probabilities for ProbabilityMatrix<'_, R> {
    type Number = R;

    fn rows(&self) -> usize {
        self.values.len() / self.classes
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn read(&self, first: usize, out: &mut [R]) -> Result<()> {
        out.copy_from_slice(&self.values[first * self.classes..][..out.len()]);
        Ok(())
    }

    fn in_memory(&self, first: usize, rows: usize) -> Option<&[R]> {
        self.values.get(first * self.classes..(first + rows) * self.classes)
    }
}

/// Probabilities whose rows are divided by their sums.
#[derive(Debug)]
pub struct Normalised<P>(pub P);

impl<P: Probabilities> Probabilities for Normalised<P> {
    type Number = f64;

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn natural_starts(&self) -> &[usize] {
        self.0.natural_starts()
    }

    fn read(&self, first: usize, out: &mut [f64]) -> Result<()> {
        let mut kept = vec![P::Number::default(); out.len()];
        self.0.read(first, &mut kept)?;
        normalise(&kept, self.classes(), out);
        Ok(())
    }

    fn read_rows(&self, wanted: &[usize], out: &mut [f64]) -> Result<()> {
        let mut kept = vec![P::Number::default(); out.len()];
        self.0.read_rows(wanted, &mut kept)?;
        normalise(&kept, self.classes(), out);
        Ok(())
    }
}

fn normalise<R: Number>(kept: &[R], classes: usize, out: &mut [f64]) {
    for (row, kept) in out.chunks_exact_mut(classes).zip(kept.chunks_exact(classes)) {
        row.iter_mut().zip(kept).for_each(|(to, &from)| *to = from.into());
        let sum: f64 = row.iter().sum();
        // A row of zeros stays as it is; the check of the rows reports it.
        if sum > 0.0 {
            row.iter_mut().for_each(|value| *value /= sum);
        }
    }
}
