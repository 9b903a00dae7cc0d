//! [`Dataset`]: what travels through every stage. Checked once when it is made, immutable, cheap to clone.
//!
//! N rows, K classes. A row has features (bytes for pictures, floats for everything else), a `given` label that may be
//! wrong and, in experiments, the `truth`. Texts are stored beside the features or instead of them. Pictures are stored channel first: `[channels][height][width]`.
//! A [`subset`](Dataset::subset) shares the features of its parent; only the list of rows is new. Pictures may still be on their way
//! ([`Arrivals`]): their rows are made when they are read, if they are not there yet.

mod arriving;
mod beliefs;
mod copies;
mod features;
mod texts;

pub use arriving::{Arrivals, RowSource};
pub use copies::{Copies, deal_groups};
pub use features::Features;
pub use texts::TextColumn;

use crate::error::{Error, Result, same_length};
use crate::stream::stream;
use std::sync::Arc;

/// A class, 0..K.
pub type Label = u32;

/// What one row looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A picture, stored `[channels][height][width]`.
    Image {
        /// 1 for grey, 3 for colour.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
    },
    /// A plain list of numbers.
    Flat(usize),
}

impl Shape {
    /// Numbers per row.
    pub fn size(self) -> usize {
        match self {
            Self::Image { channels, height, width } => channels * height * width,
            Self::Flat(size) => size,
        }
    }
}

/// The numbers of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row<'a> {
    /// Pixels.
    Bytes(&'a [u8]),
    /// Floats.
    Floats(&'a [f32]),
}

/// A classification data set whose given labels may be wrong.
///
/// ```
/// use tares_core::{Dataset, Shape};
/// let data = Dataset::new(vec![0.5f32, 1.0, -2.0, 0.0], Shape::Flat(2), vec![0, 1], ["no", "yes"])?;
/// assert_eq!((data.len(), data.classes()), (2, 2));
/// let noisy = data.clone().with_truth(vec![0, 1])?.relabel(vec![1, 1])?;
/// assert_eq!(noisy.noise_rate(), Some(0.5));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    features: Features,
    shape: Shape,
    /// Which stored row each row of this view is; `None` is all of them in order.
    rows: Option<Arc<[u32]>>,
    given: Arc<[Label]>,
    truth: Option<Arc<[Label]>>,
    foreign: Option<Arc<[bool]>>,
    ids: Option<Arc<[String]>>,
    beliefs: Option<Arc<[f32]>>,
    texts: Arc<[TextColumn]>,
    class_names: Arc<[String]>,
}

impl Dataset {
    /// Checks and takes the parts of a data set. Class names number the classes: the first is class 0.
    ///
    /// # Errors
    /// No rows; fewer than two classes or a repeated name; features that don't divide into rows; floats that are not
    /// finite; labels outside 0..K.
    pub fn new<N: Into<String>>(
        features: impl Into<Features>,
        shape: Shape,
        given: Vec<Label>,
        class_names: impl IntoIterator<Item = N>,
    ) -> Result<Self> {
        if shape.size() == 0 {
            return Err(Error::value("numbers per row", "at least 1", 0));
        }
        Self::checked(features.into(), shape, given, class_names.into_iter().map(Into::into).collect())
    }

    fn checked(features: Features, shape: Shape, given: Vec<Label>, class_names: Arc<[String]>) -> Result<Self> {
        if given.is_empty() {
            return Err(Error::empty("data set"));
        }
        if u32::try_from(given.len()).is_err() {
            return Err(Error::value("number of rows", "below 4294967296", given.len()));
        }
        if class_names.len() < 2 {
            return Err(Error::value("number of classes", "at least 2", class_names.len()));
        }
        let mut sorted: Vec<&String> = class_names.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::value("class names", "different from each other", format!("'{}' twice", pair[0])));
        }
        features::check(&features, shape, given.len())?;
        check_labels("given label", &given, class_names.len())?;
        Ok(Self {
            features,
            shape,
            rows: None,
            given: given.into(),
            truth: None,
            foreign: None,
            ids: None,
            beliefs: None,
            texts: Arc::new([]),
            class_names,
        })
    }

    /// Adds the true labels, for experiments.
    ///
    /// # Errors
    /// A different length; labels outside 0..K.
    pub fn with_truth(mut self, truth: Vec<Label>) -> Result<Self> {
        same_length("true labels", self.len(), truth.len())?;
        check_labels("true label", &truth, self.classes())?;
        self.truth = Some(truth.into());
        Ok(self)
    }

    /// Marks rows whose content belongs to no class here (open-set noise); they count as wrongly labelled.
    ///
    /// # Errors
    /// A different length.
    pub fn with_foreign(mut self, foreign: Vec<bool>) -> Result<Self> {
        same_length("foreign marks", self.len(), foreign.len())?;
        self.foreign = foreign.contains(&true).then(|| foreign.into());
        Ok(self)
    }

    /// Names the rows as people know them: a file path, a key column.
    ///
    /// # Errors
    /// A different length.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        same_length("row ids", self.len(), ids.len())?;
        self.ids = Some(ids.into());
        Ok(self)
    }

    /// The same rows with other given labels; the truth stays what it was.
    ///
    /// # Errors
    /// A different length; labels outside 0..K.
    pub fn relabel(mut self, given: Vec<Label>) -> Result<Self> {
        same_length("given labels", self.len(), given.len())?;
        check_labels("given label", &given, self.classes())?;
        (self.given, self.beliefs) = (given.into(), None);
        Ok(self)
    }

    /// The rows named by `indices`, in that order; a row may come more than once. Features are shared, not copied.
    ///
    /// # Errors
    /// No index; an index outside 0..N.
    pub fn subset(&self, indices: &[usize]) -> Result<Self> {
        if indices.is_empty() {
            return Err(Error::empty("subset"));
        }
        if let Some((place, index)) = indices.iter().enumerate().find(|(_, index)| **index >= self.len()) {
            return Err(
                Error::value("row index", format!("below {}", self.len()), index).at(format!("position {place}"))
            );
        }
        Ok(Self {
            features: self.features.clone(),
            shape: self.shape,
            rows: Some(indices.iter().map(|&index| self.stored(index) as u32).collect()),
            given: pick(&self.given, indices),
            truth: self.truth.as_ref().map(|truth| pick(truth, indices)),
            foreign: self.foreign.as_ref().map(|foreign| pick(foreign, indices)),
            ids: self.ids.as_ref().map(|ids| pick(ids, indices)),
            beliefs: self.beliefs.as_ref().map(|beliefs| {
                let of_row = |&index: &usize| &beliefs[index * self.classes()..][..self.classes()];
                indices.iter().flat_map(of_row).copied().collect()
            }),
            texts: self.texts.iter().map(|column| column.pick(indices)).collect(),
            class_names: self.class_names.clone(),
        })
    }

    /// Two disjoint parts, the second with `fraction` of every class (by given label), drawn with stream `"split"`.
    ///
    /// Each class gives `round(fraction · its rows)` rows, at least one and not all when it has two or more.
    /// Rows keep their order.
    ///
    /// # Errors
    /// `fraction` not strictly between 0 and 1; a part that would be empty.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Self, Self)> {
        let (first, second) = stratified_split(&self.given, self.classes(), fraction, seed)?;
        Ok((self.subset(&first)?, self.subset(&second)?))
    }

    /// The fold (0..`k`) of every row: classes spread evenly over folds whose sizes differ by at most one,
    /// drawn with stream `"folds"`. `copies` go into one fold together, and folds are as even as that allows.
    ///
    /// # Errors
    /// `k` below 2 or above N.
    pub fn folds(&self, copies: Option<&Copies>, k: usize, seed: u64) -> Result<Vec<usize>> {
        if k < 2 || k > self.len() {
            return Err(Error::value("number of folds", format!("from 2 to {} (the rows)", self.len()), k));
        }
        let order = shuffled_classes(&self.given, self.classes(), seed, "folds").concat();
        if let Some(fold) = copies.and_then(|copies| deal_groups(&self.given, copies.group_of(), &order, k)) {
            return Ok(fold);
        }
        let mut fold = vec![0; self.len()];
        // Dealing all classes in one round keeps both the folds and each class within a fold level.
        order.into_iter().enumerate().for_each(|(turn, index)| fold[index] = turn % k);
        Ok(fold)
    }

    /// N.
    #[allow(clippy::len_without_is_empty)] // a data set is never empty
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.class_names.len()
    }

    /// What one row looks like.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// True if the rows are bytes.
    pub fn is_bytes(&self) -> bool {
        !matches!(self.features, Features::Floats(_))
    }

    /// The numbers of row `index`. A row that has not arrived yet is fetched now.
    ///
    /// # Panics
    /// If `index` is not below N.
    pub fn row(&self, index: usize) -> Row<'_> {
        let size = self.shape.size();
        let start = self.stored(index) * size;
        match &self.features {
            Features::Bytes(values) => Row::Bytes(&values[start..start + size]),
            Features::Floats(values) => Row::Floats(&values[start..start + size]),
            Features::Arriving(rows) => Row::Bytes(rows.row(self.stored(index))),
        }
    }

    /// The labels as they came: what a learner may see.
    pub fn given(&self) -> &[Label] {
        &self.given
    }

    /// The true labels, if known: what only an experiment may see.
    pub fn truth(&self) -> Option<&[Label]> {
        self.truth.as_deref()
    }

    /// Which rows are foreign, if any is.
    pub fn foreign(&self) -> Option<&[bool]> {
        self.foreign.as_deref()
    }

    /// Whether each given label is right, if the truth is known.
    pub fn clean(&self) -> Option<Vec<bool>> {
        let truth = self.truth.as_ref()?;
        let foreign = |index: usize| self.foreign.as_ref().is_some_and(|foreign| foreign[index]);
        Some((0..self.len()).map(|index| self.given[index] == truth[index] && !foreign(index)).collect())
    }

    /// The part of the given labels that is wrong, if the truth is known.
    pub fn noise_rate(&self) -> Option<f64> {
        let clean = self.clean()?;
        Some(clean.iter().filter(|clean| !**clean).count() as f64 / clean.len() as f64)
    }

    /// The name people know row `index` by: its id, or its number in the original data.
    pub fn id(&self, index: usize) -> String {
        match &self.ids {
            Some(ids) => ids[index].clone(),
            None => self.stored(index).to_string(),
        }
    }

    /// True if the rows have names of their own.
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// The number of row `index` in the data set this one was cut from.
    pub fn stored(&self, index: usize) -> usize {
        match &self.rows {
            Some(rows) => rows[index] as usize,
            None => index,
        }
    }

    /// The classes by name; position is the label.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// Rows per class, by given label.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        self.given.iter().for_each(|&class| counts[class as usize] += 1);
        counts
    }
}

/// Checks that every label is one of 0..`classes`.
pub(crate) fn check_labels(what: &str, labels: &[Label], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label as usize >= classes) {
        Some(row) => Err(Error::value(what, format!("in 0..{classes}"), labels[row]).at(format!("row {row}"))),
        None => Ok(()),
    }
}

/// The rows of two disjoint parts, the second with `fraction` of every class, drawn with stream `"split"`: what
/// [`Dataset::split`] does, for rows that are not a data set yet.
///
/// # Errors
/// `fraction` not strictly between 0 and 1; a label that is not a class.
pub fn stratified_split(
    labels: &[Label],
    classes: usize,
    fraction: f64,
    seed: u64,
) -> Result<(Vec<usize>, Vec<usize>)> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(Error::value("split fraction", "in (0, 1)", fraction));
    }
    if let Some(label) = labels.iter().find(|&&label| label as usize >= classes) {
        return Err(Error::value("label", format!("in 0..{classes}"), label));
    }
    let mut second = vec![false; labels.len()];
    for members in shuffled_classes(labels, classes, seed, "split") {
        let wanted = (fraction * members.len() as f64).round() as usize;
        let taken = if members.len() < 2 { 0 } else { wanted.clamp(1, members.len() - 1) };
        members[..taken].iter().for_each(|&index| second[index] = true);
    }
    Ok((0..labels.len()).partition(|&index| !second[index]))
}

/// Rows per class, in random order inside each class.
fn shuffled_classes(labels: &[Label], classes: usize, seed: u64, name: &str) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); classes];
    labels.iter().enumerate().for_each(|(index, &class)| members[class as usize].push(index));
    let mut order = stream(seed, name);
    members.iter_mut().for_each(|rows| order.shuffle(rows));
    members
}

fn pick<T: Clone>(from: &[T], indices: &[usize]) -> Arc<[T]> {
    indices.iter().map(|&index| from[index].clone()).collect()
}
