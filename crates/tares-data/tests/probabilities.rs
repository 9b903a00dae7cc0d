//! A model's probabilities and labels, from any format: which column is which class, and what is refused.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tares_core::estimate::{MissingRows, NO_LABEL, Probabilities};
use tares_data::probabilities::{
    Agreed, FileRows, LabelList, LooksLike, ProbabilitySource, ProbabilityTables, TableLayout, TableOptions, agree,
    in_classes, look_at, read_labels, read_truth,
};
use tares_data::{OutTable, npy};

/// Four rows of three classes; row i is surest of class i % 3.
const ROWS: [[f32; 3]; 4] = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]];

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The rows as a model of these classes sees them.
fn read(path: &Path, classes: &[&str]) -> Result<Vec<f32>, String> {
    let source = ProbabilitySource::open(path).map_err(|error| error.to_string())?;
    let (file, _) = source.with_classes(&owned(classes), 4).map_err(|error| error.to_string())?;
    let rows = FileRows::<f32>::of(&file);
    let mut values = vec![0.0; rows.rows() * rows.classes()];
    rows.read(0, &mut values).unwrap();
    Ok(values)
}

fn in_order() -> Vec<f32> {
    ROWS.concat()
}

/// The columns `order` of the rows, called `names`.
fn table(names: [&str; 3], order: [usize; 3]) -> OutTable {
    let column = |at: usize| ROWS.iter().map(|row| row[at]).collect::<Vec<f32>>();
    names.iter().zip(order).fold(OutTable::new(), |table, (name, at)| table.column(name, column(at)).unwrap())
}

fn array(order: [usize; 3]) -> Vec<u8> {
    let bytes: Vec<u8> = ROWS.iter().flat_map(|row| order.map(|at| row[at])).flat_map(f32::to_le_bytes).collect();
    npy::encode("'<f4'", &[4, 3], &bytes)
}

fn npz(path: &Path, members: &[(&str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (name, bytes) in members {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn texts(names: &[&str]) -> Vec<u8> {
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(1);
    let cells =
        names.iter().flat_map(|name| name.chars().chain(std::iter::repeat('\0')).take(width).collect::<Vec<_>>());
    let bytes: Vec<u8> = cells.flat_map(|c| u32::from(c).to_le_bytes()).collect();
    npy::encode(&format!("'<U{width}'"), &[names.len()], &bytes)
}

#[test]
fn named_columns_of_every_format_are_found_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let classes = ["cat", "cow", "dog"];
    for format in ["csv", "parquet"] {
        let path = folder.path().join(format!("p.{format}"));
        table(["dog", "cat", "cow"], [2, 0, 1]).write(&path, true).unwrap();
        assert_eq!(read(&path, &classes), Ok(in_order()), "{format}");
        table(["p_dog", "p_cat", "p_cow"], [2, 0, 1]).write(&path, true).unwrap();
        assert_eq!(read(&path, &classes), Ok(in_order()), "{format}");
        table(["a", "b", "c"], [0, 1, 2]).write(&path, true).unwrap();
        assert_eq!(read(&path, &classes), Ok(in_order()), "{format}");
        table(["dog", "cat", "mouse"], [2, 0, 1]).write(&path, true).unwrap();
        assert!(read(&path, &classes).unwrap_err().contains("got no column for 'cow'"), "{format}");
    }
    let path = folder.path().join("p.npz");
    npz(&path, &[("probs", array([2, 0, 1])), ("classes", texts(&["dog", "cat", "cow"]))]);
    assert_eq!(read(&path, &classes), Ok(in_order()));
}

#[test]
fn a_header_of_numbers_is_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    let rows: String = ROWS.iter().map(|row| format!("{},{},{}\n", row[2], row[0], row[1])).collect();
    fs::write(&path, format!("2,0,1\n{rows}")).unwrap();
    assert_eq!(read(&path, &["0", "1", "2"]), Ok(in_order()));
}

#[test]
fn formats_are_told_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.csv");
    fs::write(&path, array([0, 1, 2])).unwrap();
    assert_eq!(read(&path, &["cat", "cow", "dog"]), Ok(in_order()));
    table(["cat", "cow", "dog"], [0, 1, 2]).write(&folder.path().join("p.parquet"), true).unwrap();
    let path = folder.path().join("output");
    fs::rename(folder.path().join("p.parquet"), &path).unwrap();
    assert_eq!(read(&path, &["cat", "cow", "dog"]), Ok(in_order()));
}

#[test]
fn another_number_of_rows_or_columns_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.npy");
    fs::write(&path, array([0, 1, 2])).unwrap();
    let said = read(&path, &["cat", "dog"]).unwrap_err();
    assert!(said.contains("a column for each of the 2 classes (cat, dog), got 3"), "{said}");
    let source = ProbabilitySource::open(&path).unwrap();
    let said = source.with_classes(&owned(&["a", "b", "c"]), 7).unwrap_err().to_string();
    assert!(said.contains("a row for each of the 7 labels, got 4"), "{said}");
    fs::write(&path, "").unwrap();
    assert!(ProbabilitySource::open(&path).unwrap_err().to_string().contains("is empty"));
    fs::write(&path, [0u8, 1, 2, 3]).unwrap();
    assert!(ProbabilitySource::open(&path).unwrap_err().to_string().contains("must be NPY, NPZ, CSV, TSV or Parquet"));
}

fn labels(folder: &Path, text: &str) -> (LabelList, PathBuf) {
    let path = folder.join("y.csv");
    fs::write(&path, text).unwrap();
    (read_labels(&path, None).unwrap(), path)
}

#[test]
fn labels_are_names_of_columns_numbers_of_columns_or_classes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (named, nameless) = (folder.path().join("named.csv"), folder.path().join("nameless.npy"));
    table(["dog", "cat", "cow"], [2, 0, 1]).write(&named, true).unwrap();
    fs::write(&nameless, array([0, 1, 2])).unwrap();
    let open = |path: &Path| ProbabilitySource::open(path).unwrap();
    let said = |text: &str, path: &Path| {
        let (labels, labels_path) = labels(folder.path(), text);
        agree(labels.clone(), &labels_path, &open(path)).map_err(|error| error.to_string())
    };
    let agreed = |classes: &[&str], given: &[u32]| Ok(Agreed { classes: owned(classes), given: given.to_vec() });
    assert_eq!(said("label\ncat\ndog\ndog\ncat\n", &named), agreed(&["cat", "cow", "dog"], &[0, 2, 2, 0]));
    assert_eq!(said("label\n0\n1\n2\n0\n", &named), agreed(&["dog", "cat", "cow"], &[0, 1, 2, 0]));
    assert_eq!(said("label\n0\n1\n2\n0\n", &nameless), agreed(&["0", "1", "2"], &[0, 1, 2, 0]));
    assert_eq!(said("label\ncow\ncat\ndog\ncat\n", &nameless), agreed(&["cat", "cow", "dog"], &[1, 0, 2, 0]));
    assert_eq!(said("label\n1\n2\n3\n1\n", &nameless), agreed(&["1", "2", "3"], &[0, 1, 2, 0]));
    assert_eq!(said("label\n-1\n0\n1\n-1\n", &nameless), agreed(&["-1", "0", "1"], &[0, 1, 2, 0]));
    let refused = said("label\ncow\ncat\ncow\ncat\n", &nameless).unwrap_err();
    assert!(refused.contains("2 different labels ('cat', 'cow') do not fit 3 columns"), "{refused}");
}

/// As `tares corrupt` writes it.
#[test]
fn the_truth_is_the_column_called_truth_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.csv");
    fs::write(&path, "index,id,given,truth\n0,0,cat,dog\n1,1,cow,cow\n").unwrap();
    let truth = read_truth(&path).unwrap();
    assert_eq!(in_classes(truth.clone(), &path, &owned(&["cat", "cow", "dog"])).unwrap(), [2, 1]);
    let said = in_classes(truth, &path, &owned(&["cat", "cow"])).unwrap_err().to_string();
    assert!(said.contains("row 0") && said.contains("label 'dog' is not one of the 2 classes"), "{said}");
    fs::write(&path, "truth,x\ncat,1\n,2\n").unwrap();
    assert!(read_truth(&path).unwrap_err().to_string().contains("row 1: has no label"));
    // A column of features that is nearly all numbers may hold `U` for unknown. Among labels it is a class, like 1 and 3.
    let cells: Vec<&str> = (0..100).map(|row| if row == 15 { "U" } else { ["1", "3"][row % 2] }).collect();
    fs::write(&path, format!("truth\n{}\n", cells.join("\n"))).unwrap();
    let read = in_classes(read_truth(&path).unwrap(), &path, &owned(&["1", "3", "U"])).unwrap();
    assert_eq!((read[14], read[15], read[16]), (0, 2, 0));
}

#[test]
fn arrays_of_text_are_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("y.npy");
    fs::write(&path, texts(&["dog", "cat", "dog"])).unwrap();
    let LabelList::Names { codes, levels } = read_labels(&path, None).unwrap() else { panic!("names are names") };
    assert_eq!((codes, levels), (vec![0, 1, 0], owned(&["dog", "cat"])));
    npz(&path, &[("y", texts(&["1", "0"]))]);
    assert_eq!(read_labels(&path, None).unwrap(), LabelList::Numbers(vec![1, 0]));
}

/// Parts of a data set are read on several machines, and one part may not have every label: what was agreed on for all of them counts.
#[test]
fn parts_agree_with_the_whole_on_the_classes() {
    let folder = tempfile::tempdir().unwrap();
    // Labels count the columns, two of which are called like other labels.
    let part = |name: &str, labels: &[u32], last: &str| {
        let path = folder.path().join(name);
        let ids: Vec<String> = labels.iter().enumerate().map(|(row, _)| format!("{name} {row}")).collect();
        let rows = OutTable::new().column("id", ids).unwrap().column("label", labels.to_vec()).unwrap();
        let columns = ["1", "2", last].into_iter().zip([0.7f32, 0.2, 0.1]);
        let rows = columns.fold(rows, |rows, (name, p)| rows.column(name, vec![p; labels.len()]).unwrap());
        rows.write(&path, true).unwrap();
        path
    };
    let paths = [part("a.parquet", &[0, 2], "x"), part("b.parquet", &[1, 2, 1], "x")];
    let options = TableOptions { id: Some("id"), ..TableOptions::default() };
    let whole = ProbabilityTables::open(&paths, options).unwrap().with_classes().unwrap().agreed;
    let open = |path: &PathBuf| ProbabilityTables::open_part(path, options).unwrap().unwrap();
    assert_eq!(open(&paths[1]).label_counts(), [("1".to_owned(), 2), ("2".to_owned(), 1)]);
    let layout = open(&paths[0]).layout(owned(&["0", "1", "2"])).unwrap();
    assert_eq!(layout.classes, whole.classes);
    let given: Vec<_> = paths.iter().map(|path| open(path).with_layout(&layout).unwrap().agreed.given).collect();
    assert_eq!(given.concat(), whole.given);
    let other = part("c.parquet", &[3], "x");
    let said = open(&other).with_layout(&layout).unwrap_err().to_string();
    assert!(said.contains("label '3' was not there when the labels were counted"), "{said}");
    let columns = part("d.parquet", &[0], "y");
    let said = open(&columns).with_layout(&layout).unwrap_err().to_string();
    assert!(said.contains("must have the columns of the other tables (1, 2, x), got 1, 2, y"), "{said}");
}

/// A table of labels beside these columns.
fn labelled(path: &Path, labels: &[&str], columns: &[(&str, &[f32])]) -> PathBuf {
    let start = OutTable::new().column("label", owned(labels)).unwrap();
    let table = columns.iter().fold(start, |table, (name, cells)| table.column(name, cells.to_vec()).unwrap());
    table.write(path, false).unwrap();
    path.to_owned()
}

fn values_of(tables: &tares_data::probabilities::ClassTables) -> Vec<f32> {
    let rows = FileRows::<f32>::of(&tables.file);
    let mut values = vec![0.0; rows.rows() * rows.classes()];
    rows.read(0, &mut values).unwrap();
    values
}

/// Names that say nothing about classes still say which column is which: the order of the first file counts for all.
#[test]
fn columns_of_later_files_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let labels = ["ant", "bee", "cat"];
    let (one, two, three) = ([0.7f32, 0.1, 0.2], [0.2f32, 0.8, 0.2], [0.1f32, 0.1, 0.6]);
    let first = labelled(&at("a.parquet"), &labels, &[("s_1", &one), ("s_2", &two), ("s_3", &three)]);
    for name in ["b.parquet", "b.csv"] {
        let other = labelled(&at(name), &labels, &[("s_3", &three), ("s_1", &one), ("s_2", &two)]);
        let options = TableOptions::default();
        let both = ProbabilityTables::open(&[first.clone(), other.clone()], options).unwrap().with_classes().unwrap();
        let values = values_of(&both);
        assert_eq!((&values[..9], &values[..3]), (&values[9..], &[0.7, 0.2, 0.1][..]), "{name}");
        // And in parts, each read on its own.
        let open = |path: &PathBuf| ProbabilityTables::open_part(path, options).unwrap().unwrap();
        let layout = open(&first).layout(owned(&labels)).unwrap();
        assert_eq!(values_of(&open(&other).with_layout(&layout).unwrap()), values[..9], "{name}");
    }
}

#[test]
fn a_class_that_no_row_has_is_one_if_a_column_is_called_like_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let (one, two, three) = ([0.7f32, 0.1], [0.2f32, 0.1], [0.1f32, 0.8]);
    for (labels, names, classes) in [
        (["cat", "dog"], ["p_dog", "p_cow", "p_cat"], ["cat", "cow", "dog"]),
        (["0", "2"], ["p_2", "p_1", "p_0"], ["0", "1", "2"]),
    ] {
        let columns = [(names[0], &one[..]), (names[1], &two[..]), (names[2], &three[..]), ("sure", &one[..])];
        labelled(&path, &labels, &columns);
        let tables = ProbabilityTables::open(std::slice::from_ref(&path), TableOptions::default()).unwrap();
        let tables = tables.with_classes().unwrap();
        assert_eq!((&tables.agreed.classes, &tables.agreed.given), (&owned(&classes), &vec![0, 2]));
        assert_eq!(values_of(&tables), [0.1, 0.2, 0.7, 0.8, 0.1, 0.1]);
    }
}

#[test]
fn rows_of_text_without_a_label_are_left_out_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, "label,p_cat,p_dog\ncat,0.9,0.1\n,0.5,0.5\ndog,0.2,0.8\n").unwrap();
    let open = |missing| {
        let options = TableOptions { missing, ..TableOptions::default() };
        ProbabilityTables::open(std::slice::from_ref(&path), options).map(|tables| tables.with_classes().unwrap())
    };
    assert_eq!(open(MissingRows::Skip).unwrap().agreed.given, [0, NO_LABEL, 1]);
    assert!(open(MissingRows::Refuse).unwrap_err().to_string().contains("row 1: has no label"));
}

#[test]
fn a_class_called_na_has_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let (one, two) = ([0.7f32, 0.1], [0.3f32, 0.9]);
    labelled(&path, &["EU", "NA"], &[("p_EU", &one), ("p_NA", &two)]);
    let tables = ProbabilityTables::open(std::slice::from_ref(&path), TableOptions::default()).unwrap();
    assert_eq!(tables.with_classes().unwrap().agreed, Agreed { classes: owned(&["EU", "NA"]), given: vec![0, 1] });
    labelled(&path, &["EU", "NA"], &[("a", &one), ("b", &two), ("c", &two)]);
    let tables = ProbabilityTables::open(std::slice::from_ref(&path), TableOptions::default()).unwrap();
    let said = tables.with_classes().unwrap_err().to_string();
    assert!(said.contains("'NA' is a label too: where a label is missing, leave it empty"), "{said}");
}

#[test]
fn truths_are_the_columns_called_so_or_zero_and_one() {
    for (names, classes, columns) in [
        (["p_true", "p_false"], ["false", "true"], [1, 0]),
        (["p_1", "p_0"], ["0", "1"], [1, 0]),
        (["a", "b"], ["false", "true"], [0, 1]),
    ] {
        let (layout, found) = TableLayout::of_names(owned(&["true", "false"]), Some(owned(&names)), 2).unwrap();
        assert_eq!((layout.classes, found), (owned(&classes), columns.to_vec()));
        assert_eq!((layout.places["false"], layout.places["true"]), (0, 1));
    }
}

#[test]
fn what_a_file_looks_like_is_told_from_names_and_from_most_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let look = |labels: [&str; 2], names: [&str; 3], bad: usize| {
        let labels: Vec<&str> = (0..200).map(|row| labels[row % 2]).collect();
        let column = |p: f32| (0..200).map(|row| if row < bad { 7.0 } else { p }).collect::<Vec<f32>>();
        let cells = [column(0.75), column(0.25), vec![0.5; 200]];
        // The third column makes no sum of 1 by itself.
        let width = if names[2].is_empty() { 2 } else { 3 };
        let columns: Vec<(&str, &[f32])> = (0..width).map(|at| (names[at], &cells[at][..])).collect();
        labelled(&path, &labels, &columns);
        look_at(std::slice::from_ref(&path), TableOptions::default())
    };
    let is = LooksLike::Probabilities;
    assert_eq!(look(["cat", "dog"], ["a", "b", ""], 0), is);
    assert_eq!(look(["cat", "dog"], ["a", "b", ""], 1), is, "the audit names the bad row");
    assert_eq!(look(["cat", "dog"], ["p_cat", "p_dog", "sure"], 0), is, "a column beside them");
    assert_eq!(look(["0", "1"], ["p_0", "p_1", "sure"], 0), is);
    // Features, among them pixels that are called like classes.
    let LooksLike::Other(why) = look(["cat", "dog"], ["a", "b", "c"], 0) else { panic!("features") };
    assert!(why.contains("200 of the first 200 rows"), "{why}");
    assert!(matches!(look(["0", "1"], ["pixel0", "pixel1", "pixel2"], 150), LooksLike::Other(_)));
}
