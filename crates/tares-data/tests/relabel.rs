//! A data set goes back into its own format with other labels, and nothing else changes.

mod reading;

use reading::{file, plain, read, table_options};
use std::fs;
use tares_data::parquet::ParquetFile;
use tares_data::{LoadOptions, load, write_relabelled};

#[test]
fn every_format_comes_back_with_other_labels_and_nothing_else_changed() {
    let labels = plain().with(|options| options.labels_file = Some(file("y.npy")));
    let cases = [
        ("idx", plain()),
        ("cifar10.bin", plain()),
        ("cifar10.bin.gz", plain()),
        ("cifar100.bin", plain()),
        ("table.csv", table_options()),
        ("table.csv.gz", table_options()),
        ("table.tsv", table_options()),
        ("table.jsonl", table_options()),
        ("table-snappy.parquet", table_options()),
        ("table-zstd.parquet", table_options()),
        ("table-groups.parquet", table_options()),
        ("table-empty-groups.parquet", table_options()),
        ("pictures.parquet", plain()),
        ("x.npy", plain()),
        ("big-endian.npy", labels),
        ("arrays.npz", plain()),
        ("arrays-compressed.npz", plain()),
    ];
    for (name, options) in cases {
        let loaded = read(&file(name), &options);
        // The next class for every third row.
        let classes = loaded.train.classes() as u32;
        let turned = |(index, &label): (usize, &u32)| if index % 3 == 0 { (label + 1) % classes } else { label };
        let given: Vec<u32> = loaded.train.given().iter().enumerate().map(turned).collect();
        let data = loaded.train.clone().relabel(given.clone()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let written = write_relabelled(&loaded, &data, folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = if file(name).is_dir() { folder.path().to_owned() } else { written[0].clone() };
        let labels = options.labels_file.as_ref().map(|labels| folder.path().join(labels.file_name().unwrap()));
        let again = read(&path, &options.with(|options| options.labels_file = labels));
        assert_eq!(again.train, data, "{name}");
        assert_eq!(again.reading, loaded.reading, "{name}");
        assert_eq!(
            again.test.map(|test| test.given().to_vec()),
            loaded.test.map(|test| test.given().to_vec()),
            "{name}"
        );
    }
}

#[test]
fn the_file_that_is_read_is_never_written_over() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("table.csv");
    fs::copy(file("table.csv"), &path).unwrap();
    let loaded = read(&path, &table_options());
    let data = loaded.train.clone().relabel(vec![0; loaded.train.len()]).unwrap();
    let error = write_relabelled(&loaded, &data, root.path()).unwrap_err().to_string();
    assert!(error.contains("is the file that is read: write to another place"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), fs::read(file("table.csv")).unwrap());
}

#[test]
fn digits_come_back_as_idx() {
    let digits = load("digits", &LoadOptions::default(), &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_relabelled(&digits, &digits.train, folder.path()).unwrap();
    let again = read(folder.path(), &LoadOptions::default());
    assert_eq!(again.train, digits.train);
    assert_eq!(again.test, digits.test);
}

#[test]
fn a_part_of_the_rows_can_be_relabelled() {
    let loaded = read(&file("labelled.csv"), &LoadOptions::default());
    let flipped = loaded.train.given().iter().map(|label| 1 - label).collect();
    let data = loaded.train.clone().relabel(flipped).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = write_relabelled(&loaded, &data, folder.path()).unwrap();
    let (before, after) = (fs::read_to_string(file("labelled.csv")).unwrap(), fs::read_to_string(&written[0]).unwrap());
    let changed: Vec<usize> =
        before.lines().zip(after.lines()).enumerate().filter(|(_, (a, b))| a != b).map(|(line, _)| line - 1).collect();
    assert_eq!(changed, (0..data.len()).map(|index| data.stored(index)).collect::<Vec<_>>());
    for (a, b) in before.lines().zip(after.lines()).skip(1) {
        assert_eq!(a.rsplit_once(',').unwrap().0, b.rsplit_once(',').unwrap().0);
    }
}

#[test]
fn other_columns_of_a_relabelled_parquet_are_the_same_cells() {
    let loaded = read(&file("table-groups.parquet"), &table_options());
    let data = loaded.train.clone().relabel(vec![1; loaded.train.len()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = write_relabelled(&loaded, &data, folder.path()).unwrap();
    let (before, after) =
        (ParquetFile::open(file("table-groups.parquet")).unwrap(), ParquetFile::open(&written[0]).unwrap());
    assert_eq!(before.leaves(), after.leaves());
    let others: Vec<_> = before.leaves().into_iter().filter(|leaf| leaf.name != "species").collect();
    let (a, b) = (before.table(&others).unwrap(), after.table(&others).unwrap());
    assert_eq!(format!("{:?}", a.columns), format!("{:?}", b.columns));
}

#[test]
fn a_folder_of_pictures_is_relabelled_beside_itself_never_in_place() {
    let loaded = read(&file("folder"), &plain());
    let error = write_relabelled(&loaded, &loaded.train, &file("folder")).unwrap_err().to_string();
    assert!(error.contains("is the data itself: write into another folder"), "{error}");
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("copy");
    let written = write_relabelled(&loaded, &loaded.train, &out).unwrap();
    assert!(written.iter().all(|path| path.starts_with(&out) && path.is_file()));
    let copy = read(&out, &plain());
    assert_eq!((copy.train.given(), copy.train.len()), (loaded.train.given(), loaded.train.len()));
    assert_eq!(copy.found.classes, loaded.found.classes);
}
