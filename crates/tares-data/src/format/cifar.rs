//! CIFAR-10 and CIFAR-100 in their binary version: records of label byte(s) and 3 × 32 × 32 pixels, red plane first.
//!
//! ```text
//! CIFAR-10    label                 1024 R  1024 G  1024 B     3,073 bytes
//! CIFAR-100   coarse label  label   1024 R  1024 G  1024 B     3,074 bytes
//! ```

use crate::error::{DataError, Place, Result};
use crate::image::Pictures;
use crate::io::Input;
use std::io::Read;
use std::path::{Path, PathBuf};
use tares_core::{Label, Shape};

/// Bytes of one picture.
pub const PIXELS: usize = 3 * 32 * 32;

/// What the records look like and which label counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// CIFAR-10.
    Ten,
    /// CIFAR-100, 100 classes.
    Fine,
    /// CIFAR-100, the 20 groups of classes.
    Coarse,
}

impl Layout {
    /// Label bytes in front of the pixels.
    pub fn label_bytes(self) -> usize {
        if self == Self::Ten { 1 } else { 2 }
    }

    /// Bytes of one record.
    pub fn record(self) -> usize {
        self.label_bytes() + PIXELS
    }

    /// Which label byte counts.
    pub fn label_position(self) -> usize {
        usize::from(self == Self::Fine)
    }

    /// Classes.
    pub fn classes(self) -> usize {
        match self {
            Self::Ten => 10,
            Self::Fine => 100,
            Self::Coarse => 20,
        }
    }

    /// The names of the classes, as the data set's own files have them.
    pub fn class_names(self) -> Vec<String> {
        let names = match self {
            Self::Ten => TEN,
            Self::Fine => FINE,
            Self::Coarse => COARSE,
        };
        names.split_whitespace().map(str::to_owned).collect()
    }
}

/// Reads files one after the other. The pixels stay bytes and are stored once.
///
/// # Errors
/// A file that ends inside a record or holds none; a label that is not a class.
pub fn read(inputs: Vec<Input>, layout: Layout) -> Result<Pictures> {
    let path = inputs.first().map_or_else(PathBuf::new, |input| input.path().to_owned());
    let records = inputs.iter().map(|input| input.size_hint() / layout.record() as u64).sum::<u64>() as usize;
    let mut pixels = Vec::with_capacity(records.saturating_mul(PIXELS));
    let mut labels = Vec::with_capacity(records);
    let mut record = vec![0; layout.record()];
    for mut input in inputs {
        let before = labels.len();
        while fill(&mut input, &mut record, labels.len() - before)? {
            let label = Label::from(record[layout.label_position()]);
            if label as usize >= layout.classes() {
                let row = labels.len() - before;
                let offset = (row * layout.record() + layout.label_position()) as u64;
                let problem = format!("label of record {row} must be in 0..{}, got {label}", layout.classes());
                return Err(DataError::format(input.path(), Place::Offset(offset), problem));
            }
            labels.push(label);
            pixels.extend_from_slice(&record[layout.label_bytes()..]);
        }
        if labels.len() == before {
            return Err(DataError::format(input.path(), Place::File, "is empty"));
        }
    }
    let shape = Shape::Image { channels: 3, height: 32, width: 32 };
    Ok(Pictures { path, shape, pixels, labels, ids: None })
}

/// Reads one record; false at the end of the file.
fn fill(input: &mut Input, record: &mut [u8], row: usize) -> Result<bool> {
    let mut filled = 0;
    while filled < record.len() {
        match input.read(&mut record[filled..]).map_err(|source| DataError::io(input.path(), "read", source))? {
            0 if filled == 0 => return Ok(false),
            0 => {
                let problem = format!("record {row} has {filled} of its {} bytes (is the file cut off?)", record.len());
                return Err(DataError::format(
                    input.path(),
                    Place::Offset((row * record.len() + filled) as u64),
                    problem,
                ));
            }
            count => filled += count,
        }
    }
    Ok(true)
}

/// The CIFAR files of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CifarFiles {
    /// CIFAR-10 or CIFAR-100 (fine).
    pub layout: Layout,
    /// CifarFiles to train on, in order.
    pub train: Vec<PathBuf>,
    /// The file to test on.
    pub test: Option<PathBuf>,
}

/// Finds CIFAR's names in a folder (or in the folder its archive unpacks to), plain or `.gz`. A folder with only some `.bin`
/// files counts too: the first is used. `None` if there are no records.
pub fn find(folder: &Path) -> Option<CifarFiles> {
    let file = |folder: &Path, name: &str| {
        ["", ".gz"].iter().map(|gz| folder.join(format!("{name}{gz}"))).find(|path| path.is_file())
    };
    for folder in [folder.to_owned(), folder.join("cifar-10-batches-bin"), folder.join("cifar-100-binary")] {
        let batches: Vec<PathBuf> =
            (1..=5).map_while(|batch| file(&folder, &format!("data_batch_{batch}.bin"))).collect();
        if !batches.is_empty() {
            return Some(CifarFiles { layout: Layout::Ten, train: batches, test: file(&folder, "test_batch.bin") });
        }
        let train = file(&folder, "train.bin");
        if let Some((train, layout)) = train.and_then(|train| Some((train.clone(), layout_of(&train)?))) {
            return Some(CifarFiles { layout, train: vec![train], test: file(&folder, "test.bin") });
        }
    }
    let mut others: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    others.retain(|path| path.to_str().is_some_and(|name| name.ends_with(".bin") || name.ends_with(".bin.gz")));
    others.sort();
    let (first, layout) = others.into_iter().find_map(|path| layout_of(&path).map(|layout| (path, layout)))?;
    Some(CifarFiles { layout, train: vec![first], test: None })
}

/// Tells CIFAR-10 from CIFAR-100 records by the size of the file and its first labels; `None` if it is neither.
pub fn layout_of(path: &Path) -> Option<Layout> {
    [Layout::Ten, Layout::Fine].into_iter().find(|layout| {
        let Ok(mut input) = Input::open(path) else { return false };
        let size = input.declared_size();
        let Ok(first) = input.array::<2>("record") else { return false };
        let fits = size > 0 && size % layout.record() as u64 == 0;
        fits && match layout {
            Layout::Ten => first[0] < 10,
            _ => first[0] < 20 && first[1] < 100,
        }
    })
}

/// The names in the files that come with the records (`batches.meta.txt`, `fine_label_names.txt`, …), if they are there and
/// complete; else the ones everybody knows.
pub fn class_names(folder: &Path, layout: Layout) -> Vec<String> {
    let file = match layout {
        Layout::Ten => "batches.meta.txt",
        Layout::Fine => "fine_label_names.txt",
        Layout::Coarse => "coarse_label_names.txt",
    };
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let names: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if names.len() == layout.classes() { names } else { layout.class_names() }
}

const TEN: &str = "airplane automobile bird cat deer dog frog horse ship truck";

const COARSE: &str = "aquatic_mammals fish flowers food_containers fruit_and_vegetables household_electrical_devices \
    household_furniture insects large_carnivores large_man-made_outdoor_things large_natural_outdoor_scenes \
    large_omnivores_and_herbivores medium_mammals non-insect_invertebrates people reptiles small_mammals trees \
    vehicles_1 vehicles_2";

const FINE: &str = "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can \
    castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin \
    elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster \
    man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck \
    pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk \
    skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger \
    tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm";

#[cfg(test)]
mod tests {
    use super::*;

    fn record(labels: &[u8], lit: usize) -> Vec<u8> {
        let mut record = labels.to_vec();
        record.resize(labels.len() + PIXELS, 0);
        record[labels.len() + lit] = 200;
        record
    }

    fn input(bytes: Vec<u8>) -> Input {
        Input::from_bytes("c.bin", bytes).unwrap()
    }

    #[test]
    fn planes_rows_and_labels_stay_in_order() {
        // Green plane, row 3, column 5 of the second picture.
        let lit = 1024 + 3 * 32 + 5;
        let pictures = read(vec![input(record(&[7], 0)), input(record(&[2], lit))], Layout::Ten).unwrap();
        assert_eq!(pictures.labels, [7, 2]);
        assert_eq!(pictures.pixels.iter().position(|&p| p == 200), Some(0));
        assert_eq!(pictures.pixels.iter().rposition(|&p| p == 200), Some(PIXELS + lit));
    }

    #[test]
    fn coarse_and_fine_labels_are_the_first_and_second_byte() {
        let bytes = record(&[19, 99], 1);
        assert_eq!(read(vec![input(bytes.clone())], Layout::Fine).unwrap().labels, [99]);
        assert_eq!(read(vec![input(bytes)], Layout::Coarse).unwrap().labels, [19]);
    }

    #[test]
    fn every_layout_names_all_its_classes() {
        for layout in [Layout::Ten, Layout::Fine, Layout::Coarse] {
            assert_eq!(layout.class_names().len(), layout.classes());
        }
    }

    #[test]
    fn says_where_a_bad_file_is_bad() {
        let mut long = record(&[1], 0);
        long.extend([3, 0, 0]);
        let cases = [
            (vec![], "c.bin: is empty"),
            (long, "c.bin: byte 3076: record 1 has 3 of its 3073 bytes (is the file cut off?)"),
            (record(&[10], 0), "c.bin: byte 0: label of record 0 must be in 0..10, got 10"),
        ];
        for (bytes, message) in cases {
            assert_eq!(read(vec![input(bytes)], Layout::Ten).unwrap_err().to_string(), message);
        }
    }
}
