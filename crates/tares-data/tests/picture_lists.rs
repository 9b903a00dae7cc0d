//! Pictures named in a CSV file.

use std::fs;
use std::path::Path;
use tares_core::Row;
use tares_data::{Format, LoadOptions, Loaded, load, load_with, write_relabelled};

/// A grey picture of 2 x 1 pixels whose second one is `value`.
fn picture(folder: &Path, name: &str, value: u8) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, [b"P5 2 1 255\n".as_slice(), &[7, value]].concat()).unwrap();
}

fn folder(list: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("a.pgm", 1), ("deep/b.pgm", 2), ("deep/c d.pgm", 3), ("e.pgm", 4)] {
        picture(folder.path(), name, value);
    }
    fs::write(folder.path().join("labels.csv"), list).unwrap();
    folder
}

fn options() -> LoadOptions {
    LoadOptions::default().with(|options| options.test_fraction = 0.0)
}

fn read(folder: &Path, options: &LoadOptions) -> Result<Loaded, String> {
    let path = folder.join("labels.csv");
    load(path.to_str().unwrap(), options, &mut |_| {}).map_err(|error| error.to_string())
}

const LIST: &str = "path,label\ndeep/c d.pgm,cat\na.pgm,dog\n./e.pgm,cat\ndeep/b.pgm,dog\n";

#[test]
fn rows_come_in_the_order_of_the_list_with_their_pictures_and_labels() {
    let folder = folder(LIST);
    let loaded = read(folder.path(), &options()).unwrap();
    assert_eq!(loaded.found.format, Format::PictureList);
    assert_eq!(
        (loaded.train.given(), loaded.train.class_names().join(" ")),
        ([0, 1, 0, 1].as_slice(), "cat dog".into())
    );
    let seconds: Vec<Row<'_>> = (0..4).map(|index| loaded.train.row(index)).collect();
    assert_eq!(seconds, [[7, 3], [7, 1], [7, 4], [7, 2]].each_ref().map(|row| Row::Bytes(row)));
    assert_eq!(loaded.train.id(0), "deep/c d.pgm");
    assert!(loaded.found.notes.iter().any(|note| note.contains("paths are relative to")), "{:?}", loaded.found.notes);
}

#[test]
fn the_label_may_stand_first_or_be_named_and_a_header_may_be_missing() {
    for (list, label) in [
        ("species\tfile\ncat\tdeep/c d.pgm\ndog\ta.pgm\n", None),
        ("deep/c d.pgm,cat\na.pgm,dog\n", None),
        ("n,species,file\n1,cat,deep/c d.pgm\n2,dog,a.pgm\n", Some("species".to_owned())),
    ] {
        let folder = folder(list);
        let loaded = read(folder.path(), &options().with(|options| options.label = label)).unwrap();
        assert_eq!((loaded.train.given(), loaded.train.class_names().join(" ")), ([0, 1].as_slice(), "cat dog".into()));
        assert_eq!(loaded.train.row(0), Row::Bytes(&[7, 3]));
    }
}

#[test]
fn a_path_that_leads_nowhere_is_named_with_its_line() {
    let folder = folder("path,label\na.pgm,dog\nmissing.pgm,cat\ndeep/b.pgm,cat\n");
    let said = read(folder.path(), &options()).unwrap_err();
    assert!(said.contains("labels.csv") && said.contains("missing.pgm") && said.contains("line 3"), "{said}");
    let loaded = read(folder.path(), &options().with(|options| options.skip_unreadable = true)).unwrap();
    assert_eq!((loaded.train.len(), loaded.found.skipped.len()), (2, 1));
    let nowhere = folder.path().join("labels.csv");
    fs::write(&nowhere, "path,label\nx.jpg,dog\ny.jpg,cat\n").unwrap();
    let said = read(folder.path(), &options()).unwrap_err();
    assert!(said.contains("x.jpg") && said.contains("line 2"), "{said}");
}

#[test]
fn a_table_that_mentions_pictures_it_does_not_have_stays_a_table() {
    let folder = folder("file,width,label\nx.jpg,3.5,dog\ny.jpg,4.5,cat\nz.jpg,4.0,cat\n");
    assert_eq!(read(folder.path(), &options()).unwrap().found.format, Format::Csv);
}

#[test]
fn corrected_labels_go_into_a_list_whose_other_bytes_stay() {
    let folder = folder(LIST);
    let loaded = read(folder.path(), &options()).unwrap();
    let corrected = loaded.train.clone().relabel(vec![0, 0, 0, 1]).unwrap();
    let files = write_relabelled(&loaded, &corrected, &folder.path().join("corrected")).unwrap();
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), LIST.replace("a.pgm,dog", "a.pgm,cat"));
    // Rows that were left out keep their labels, and do not shift those behind them.
    fs::remove_file(folder.path().join("a.pgm")).unwrap();
    let loaded = read(folder.path(), &options().with(|options| options.skip_unreadable = true)).unwrap();
    let corrected = loaded.train.clone().relabel(vec![0, 1, 1]).unwrap();
    let files = write_relabelled(&loaded, &corrected, &folder.path().join("again")).unwrap();
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), LIST.replace("./e.pgm,cat", "./e.pgm,dog"));
}

#[test]
fn pictures_without_a_label_stand_apart_in_their_places() {
    let folder = folder("path,label\ndeep/c d.pgm,cat\na.pgm,\n./e.pgm,dog\ndeep/b.pgm,dog\n");
    let loaded = read(folder.path(), &options()).unwrap();
    assert_eq!(loaded.train.given(), [0, 1, 1]);
    assert_eq!((0..3).map(|row| loaded.train.stored(row)).collect::<Vec<_>>(), [0, 2, 3]);
    let rest = loaded.unlabelled.as_ref().unwrap();
    assert_eq!((rest.len(), rest.id(0), rest.stored(0)), (1, "a.pgm".to_owned(), 1));
    let notes = &loaded.found.column_notes;
    assert!(notes.iter().any(|note| note.contains("1 pictures have no label")), "{notes:?}");
    // Features from elsewhere have a row for every line of the list, as for tables.
    let described = loaded.clone().with_features(vec![1.0, 2.0, 3.0, 4.0], 1).unwrap();
    assert_eq!(described.train.row(1), Row::Floats(&[3.0]));
    assert_eq!(described.unlabelled.unwrap().row(0), Row::Floats(&[2.0]));
    // New pictures may have labels, or not, or some of them.
    let new = folder.path().join("labels.csv");
    let rows = load_with(new.to_str().unwrap(), &loaded.reading, &options(), &mut |_| {}).unwrap();
    assert_eq!(rows.labels, [Some(0), None, Some(1), Some(1)]);
}

#[test]
fn new_pictures_may_be_listed_without_labels() {
    let folder = folder(LIST);
    let loaded = read(folder.path(), &options()).unwrap();
    let new = folder.path().join("new.csv");
    fs::write(&new, "path\na.pgm\ne.pgm\n").unwrap();
    let rows = load_with(new.to_str().unwrap(), &loaded.reading, &options(), &mut |_| {}).unwrap();
    assert_eq!((rows.data.len(), rows.labels.iter().flatten().count()), (2, 0));
    assert_eq!(rows.data.row(1), Row::Bytes(&[7, 4]));
}
