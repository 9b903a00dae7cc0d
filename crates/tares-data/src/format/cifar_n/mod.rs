//! Labels that people really gave: CIFAR-10N and CIFAR-100N (Wei et al., ICLR 2022) as the given labels of CIFAR's training
//! pictures; CIFAR's own labels become the truth. Read from the authors' `.pt` files or from CSV, plain or gzipped.

mod pickle;

use crate::error::{DataError, Place, Result};
use crate::format::cifar::Layout;
use crate::io::Input;
use crate::load::{LoadOptions, Loaded};
use crate::source::Origin;
use crate::source::locate;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tares_core::Error;

/// A `.pt` or CSV file of labels is never larger.
const MOST_BYTES: u64 = 1 << 26;

/// Which of the human labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HumanLabels {
    /// CIFAR-10N: the majority of three people (9 % wrong).
    Aggregate,
    /// CIFAR-10N: the first person (17 % wrong).
    Random1,
    /// CIFAR-10N: the second person (18 % wrong).
    Random2,
    /// CIFAR-10N: the third person (18 % wrong).
    Random3,
    /// CIFAR-10N: a wrong answer wherever one of the three gave one (40 % wrong).
    Worst,
    /// CIFAR-100N: one person (40 % wrong); of the groups if the groups are the classes.
    Noisy,
}

impl HumanLabels {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Aggregate, Self::Random1, Self::Random2, Self::Random3, Self::Worst, Self::Noisy];

    /// The name people type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aggregate => "aggregate",
            Self::Random1 => "random1",
            Self::Random2 => "random2",
            Self::Random3 => "random3",
            Self::Worst => "worst",
            Self::Noisy => "noisy",
        }
    }

    /// The columns with these labels and with the true ones, in the authors' files.
    fn columns(self, coarse: bool) -> (&'static str, &'static str) {
        match (self, coarse) {
            (Self::Aggregate, _) => ("aggre_label", "clean_label"),
            (Self::Random1, _) => ("random_label1", "clean_label"),
            (Self::Random2, _) => ("random_label2", "clean_label"),
            (Self::Random3, _) => ("random_label3", "clean_label"),
            (Self::Worst, _) => ("worse_label", "clean_label"),
            (Self::Noisy, false) => ("noisy_label", "clean_label"),
            (Self::Noisy, true) => ("noisy_coarse_label", "clean_coarse_label"),
        }
    }
}

impl fmt::Display for HumanLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HumanLabels {
    type Err = Error;

    fn from_str(text: &str) -> tares_core::Result<Self> {
        let known = Self::ALL.into_iter().find(|which| which.name() == text);
        known.ok_or_else(|| Error::unknown("kind of human labels", text, &Self::ALL.map(Self::name)))
    }
}

/// Replaces the given labels of CIFAR's training pictures.
pub(crate) fn apply(loaded: &mut Loaded, which: HumanLabels, options: &LoadOptions) -> Result<()> {
    let ten = match &loaded.origin {
        Origin::Cifar(files) => files.layout == Layout::Ten,
        _ => return Err(Error::value("data with human labels", "cifar-10 or cifar-100", loaded.found.format).into()),
    };
    if ten == (which == HumanLabels::Noisy) {
        let allowed =
            if ten { "aggregate, random1, random2, random3 or worst for cifar-10" } else { "noisy for cifar-100" };
        return Err(Error::value("human labels", allowed, which).into());
    }
    let path = match &options.human_file {
        Some(path) => path.clone(),
        None => find(ten, options, loaded.origin.path())?,
    };
    let columns = read(Input::open(&path)?)?;
    let coarse = !ten && options.coarse;
    let (given_name, truth_name) = which.columns(coarse);
    let column = |name: &str| {
        columns.get(name).ok_or_else(|| DataError::format(&path, Place::File, format!("has no labels \"{name}\"")))
    };
    let (given, truth) = (column(given_name)?, column(truth_name)?);
    let data = loaded.train.clone();
    let total = (0..data.len()).map(|index| data.stored(index) + 1).max().unwrap_or(0);
    let whole =
        loaded.test.as_ref().map_or(0, |test| (0..test.len()).map(|index| test.stored(index) + 1).max().unwrap_or(0));
    if given.len() != truth.len() || given.len() < total || (total < 50_000 && given.len() > total.max(whole)) {
        let problem = format!("has {} labels, but the training pictures are {}", given.len(), data.len());
        return Err(DataError::format(&path, Place::File, problem));
    }
    let classes = data.classes() as i64;
    let mut labels = Vec::with_capacity(data.len());
    for (index, &own) in data.given().iter().enumerate() {
        let row = data.stored(index);
        if truth[row] != i64::from(own) {
            let problem = format!("says the true label is {}, but the picture's is {own}: other order?", truth[row]);
            return Err(DataError::format(&path, Place::Row(row as u64), problem));
        }
        if !(0..classes).contains(&given[row]) {
            let problem = format!("label must be in 0..{classes}, got {}", given[row]);
            return Err(DataError::format(&path, Place::Row(row as u64), problem));
        }
        labels.push(given[row] as u32);
    }
    let truth = data.given().to_vec();
    let content = |source| DataError::content(&path, source);
    loaded.train = data.with_truth(truth).map_err(content)?.relabel(labels).map_err(content)?;
    let counts = loaded.train.class_counts();
    loaded.found.classes.iter_mut().zip(counts).for_each(|(class, count)| class.train = count);
    let rate = 100.0 * loaded.train.noise_rate().unwrap_or(0.0);
    loaded.found.notes.push(format!("given labels are people's ({which}): {rate:.2} % differ from the true ones"));
    loaded.found.files.push(path);
    Ok(())
}

/// Reads all label columns of a CIFAR-N file: `.pt` or CSV, told by content.
///
/// # Errors
/// Neither of the two; what the formats refuse.
pub fn read(mut input: Input) -> Result<HashMap<String, Vec<i64>>> {
    let path = input.path().to_owned();
    let bad = |problem: String| DataError::format(&path, Place::File, problem);
    let bytes = input.rest(MOST_BYTES)?;
    if bytes.starts_with(b"PK") {
        let failed = |cause| DataError::decode(&path, Place::File, "cannot be read as a PyTorch file", cause);
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(failed)?;
        let name = archive.file_names().flatten().map(Cow::into_owned).find(|name| name.ends_with("data.pkl"));
        let name = name.ok_or_else(|| bad("has no data.pkl inside".into()))?;
        let mut pickled = Vec::new();
        let entry = archive.by_name(&name).map_err(failed)?;
        entry.take(MOST_BYTES).read_to_end(&mut pickled).map_err(|source| DataError::io(&path, "unpack", source))?;
        return pickle::integer_arrays(&pickled).map_err(bad);
    }
    let mut reader = csv::ReaderBuilder::new().from_reader(Cursor::new(bytes));
    let failed = |cause: csv::Error| DataError::decode(&path, Place::File, "cannot be read as CSV", cause);
    let names: Vec<String> = reader.headers().map_err(failed)?.iter().map(|name| name.trim().to_owned()).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        for (column, cell) in columns.iter_mut().zip(&record) {
            column.push(cell.trim().parse::<i64>().map_err(|cause| {
                DataError::decode(&path, Place::Line(line), format!("\"{cell}\" is no whole number"), cause)
            })?);
        }
    }
    Ok(names.into_iter().zip(columns).collect())
}

/// Looks for the usual names next to CIFAR and in the usual places.
pub(crate) fn find(ten: bool, options: &LoadOptions, cifar: &Path) -> Result<PathBuf> {
    let names = if ten { ["cifar-10n.csv", "CIFAR-10_human.pt"] } else { ["cifar-100n.csv", "CIFAR-100_human.pt"] };
    let own = cifar.parent().map(Path::to_owned);
    let beside = own.as_ref().and_then(|own| own.parent()).map(Path::to_owned);
    let named = std::env::var_os("TARES_DATA").map(PathBuf::from);
    let roots = [options.data_dir.clone(), own, beside, named, locate::cache_dir()];
    let folders: Vec<PathBuf> =
        roots.into_iter().flatten().flat_map(|root| [root.join("cifar-n"), root.join("data"), root]).collect();
    let file = |folder: &PathBuf| {
        let names = names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}.gz")]);
        names.map(|name| folder.join(name)).find(|path| path.is_file())
    };
    folders.iter().find_map(file).ok_or_else(|| DataError::NotFound {
        name: names[1].into(),
        looked: folders.clone(),
        way: "get it from github.com/UCSC-REAL/cifar-10-100n (CC BY-NC 4.0) and name it with human-file".into(),
    })
}
