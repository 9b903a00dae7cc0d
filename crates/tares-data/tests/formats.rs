//! Every format is read as it was written: the tiny files of `tests/files` come from NumPy, pandas, pyarrow and Pillow
//! (`compare/make_tiny_files.py`).

mod reading;

use reading::{file, floats, plain, read, refusal, table_options};
use std::fs;
use std::path::PathBuf;
use tares_core::{Dataset, Row, Shape};
use tares_data::{Format, HumanLabels, LoadOptions, Reading, inspect, load, load_with, parquet::ParquetFile};

fn bytes(data: &Dataset, index: usize) -> Vec<u8> {
    match data.row(index) {
        Row::Bytes(bytes) => bytes.to_vec(),
        Row::Floats(_) => panic!("bytes"),
    }
}

/// The positions of all values that are not zero.
fn lit(data: &Dataset) -> Vec<(usize, usize, u8)> {
    let row = |index| bytes(data, index).into_iter().enumerate().map(move |(at, value)| (index, at, value));
    (0..data.len()).flat_map(row).filter(|(_, _, value)| *value > 0).collect()
}

#[test]
fn idx_keeps_rows_columns_and_labels() {
    let loaded = read(&file("idx"), &plain());
    assert_eq!(loaded.found.format, Format::Idx);
    assert_eq!(loaded.train.shape(), Shape::Image { channels: 1, height: 3, width: 4 });
    assert_eq!(lit(&loaded.train), [(4, 2 * 4 + 1, 200)]);
    assert_eq!(loaded.train.given(), [0, 1, 2, 0, 1, 2]);
    // The pair is found from either file.
    assert_eq!(read(&file("idx/train-labels-idx1-ubyte.gz"), &plain()).train, loaded.train);
}

#[test]
fn cifar_keeps_planes_rows_columns_and_labels() {
    for name in ["cifar10.bin", "cifar10.bin.gz"] {
        let loaded = read(&file(name), &plain());
        assert_eq!(loaded.found.format, Format::Cifar10);
        assert_eq!(lit(&loaded.train), [(1, 2 * 1024 + 30 * 32 + 2, 77)]);
        assert_eq!(loaded.train.given(), [9, 4, 0]);
    }
    let fine = read(&file("cifar100.bin"), &plain());
    let coarse = read(&file("cifar100.bin"), &plain().with(|options| options.coarse = true));
    assert_eq!((fine.train.given(), coarse.train.given()), (&[42, 99][..], &[3, 19][..]));
    assert_eq!(lit(&fine.train), [(0, 1024 + 5, 66)]);
}

#[test]
fn all_table_formats_give_the_same_rows() {
    let first = read(&file("table.csv"), &table_options());
    let rules = first.reading.table.as_ref().unwrap();
    assert_eq!(
        rules.feature_names(),
        ["height", "height is missing", "width", "colour=blue", "colour=red", "colour=(missing)"]
    );
    assert_eq!(floats(&first.train, 7), [1.75, 0.0, 99.5, 1.0, 0.0, 0.0]);
    assert_eq!(floats(&first.train, 3), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(floats(&first.train, 2), [0.5, 0.0, 2.0, 0.0, 0.0, 1.0]);
    assert_eq!(first.train.class_names(), ["ant", "bee"]);
    assert_eq!(first.train.given()[..3], [0, 1, 0]);
    assert_eq!(first.train.id(7), "r7");
    let parquet = ["snappy", "zstd", "gzip", "lz4", "none", "groups", "empty-groups"]
        .map(|codec| format!("table-{codec}.parquet"));
    for name in ["table.tsv", "table.csv.gz", "table.jsonl"].into_iter().chain(parquet.each_ref().map(String::as_str)) {
        assert_eq!(read(&file(name), &table_options()).train, first.train, "{name}");
    }
}

#[test]
fn numbers_of_a_parquet_group_are_read_alone() {
    let parquet = ParquetFile::open(file("table-groups.parquet")).unwrap();
    assert_eq!((parquet.groups(), parquet.rows()), (3, 12));
    let width: Vec<_> = parquet.leaves().into_iter().filter(|leaf| leaf.name == "width").collect();
    assert_eq!(parquet.numbers(1, &width).unwrap(), [vec![2.0, 0.0, 99.5, 2.0, 0.0]]);
}

#[test]
fn all_array_formats_give_the_same_rows() {
    let labels = plain().with(|options| options.labels_file = Some(file("y.npy")));
    let first = read(&file("x.npy"), &plain());
    assert_eq!(floats(&first.train, 5), [15.0 / 8.0, 2.0, -7.5]);
    assert_eq!(first.train.given(), [0, 1, 0, 1, 0, 1, 0, 1]);
    for name in ["fortran.npy", "half.npy", "big-endian.npy"] {
        assert_eq!(read(&file(name), &labels).train, first.train, "{name}");
    }
    assert_eq!(read(&file("arrays.npz"), &plain()).train, first.train);
    let words = read(&file("arrays-compressed.npz"), &plain());
    assert_eq!(words.train.class_names(), ["no", "yes"]);
    assert_eq!(words.train.given(), first.train.given());
    assert_eq!(words.test.unwrap().given(), [1, 0]);
    let named = read(&file("x.npy"), &plain().with(|options| options.labels_file = Some(file("words.npy"))));
    assert_eq!(named.train.class_names(), ["no", "yes"]);
}

#[test]
fn picture_arrays_become_planes() {
    let loaded = read(&file("pictures.npz"), &plain());
    assert_eq!(loaded.train.shape(), Shape::Image { channels: 3, height: 2, width: 3 });
    assert_eq!(lit(&loaded.train), [(2, 5, 10), (2, 6 + 5, 20), (2, 12 + 5, 30)]);
}

#[test]
fn folders_and_archives_of_pictures_are_the_same() {
    let loaded = read(&file("folder"), &plain());
    assert_eq!(loaded.train.class_names(), ["cat", "dog"]);
    assert_eq!(loaded.train.given(), [0, 0, 1, 1]);
    assert_eq!(loaded.train.shape(), Shape::Image { channels: 3, height: 2, width: 3 });
    // Red plane, row 1, column 2; the grey one has the same value in all planes at row 1, column 0.
    assert_eq!(lit(&loaded.train), [(0, 5, 250), (1, 5, 250), (2, 5, 250), (3, 3, 90), (3, 9, 90), (3, 15, 90)]);
    assert_eq!(loaded.train.id(3), "dog/b.png");
    for name in ["folder.tar.gz", "folder.tar", "folder.zip"] {
        assert_eq!(read(&file(name), &plain()).train, loaded.train, "{name}");
    }
    let large = read(&file("folder"), &plain().with(|options| options.image_size = Some((4, 6))));
    assert_eq!(large.train.shape(), Shape::Image { channels: 3, height: 4, width: 6 });
}

#[test]
fn hugging_face_pictures_have_names_and_paths() {
    let loaded = read(&file("pictures.parquet"), &plain());
    assert_eq!(loaded.found.format, Format::ParquetImages);
    assert_eq!(loaded.train.class_names(), ["cat", "dog", "unused"]);
    assert_eq!(loaded.train.given(), [0, 0, 1, 1]);
    assert_eq!(loaded.train.id(3), "dog-b.png");
    assert_eq!(lit(&loaded.train), lit(&read(&file("folder"), &plain()).train));
}

#[test]
fn train_and_test_folders_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    for (from, to) in
        [("cat/a.png", "train/cat/a.png"), ("dog/a.png", "train/dog/a.png"), ("dog/b.png", "val/dog/b.png")]
    {
        let to = root.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file("folder").join(from), to).unwrap();
    }
    let loaded = read(root.path(), &LoadOptions::default());
    assert_eq!(loaded.train.given(), [0, 1]);
    assert_eq!(loaded.test.unwrap().given(), [1]);
    // A test part can also be named; its classes are matched by name.
    let named = plain().with(|options| options.test = Some(root.path().join("val")));
    assert_eq!(read(&file("folder"), &named).test.unwrap().given(), [1]);
    let named = plain().with(|options| options.test = Some(file("folder.zip")));
    assert_eq!(read(&file("folder"), &named).test.unwrap().given(), [0, 0, 1, 1]);
}

#[test]
fn a_stratified_test_part_is_made_and_said() {
    let options = table_options().with(|options| {
        options.test_fraction = 0.34;
        options.seed = 5;
    });
    let first = read(&file("table.csv"), &options);
    assert_eq!(first.train.class_counts(), [4, 4]);
    assert_eq!(first.test.as_ref().unwrap().class_counts(), [2, 2]);
    assert_eq!(read(&file("table.csv"), &options).train, first.train);
    assert!(first.found.notes[0].contains("0.34 of every class was set aside (seed 5)"));
    let found = inspect(file("table.csv").to_str().unwrap(), &options).unwrap();
    assert_eq!(found, first.found);
    let text = found.to_string();
    assert!(text.contains("rows     8 to train, 4 to test") && text.contains("text, 2 levels"), "{text}");
}

#[test]
fn new_rows_are_read_like_the_training_rows() {
    let loaded = read(&file("table.csv"), &table_options().with(|options| options.standardise = true));
    let json = serde_json::to_string(&loaded.reading).unwrap();
    let reading: Reading = serde_json::from_str(&json).unwrap();
    let again = load_with(file("table.tsv").to_str().unwrap(), &reading, &LoadOptions::default(), &mut |_| {}).unwrap();
    assert!(again.labels.iter().all(Option::is_some));
    assert_eq!(again.data, loaded.train);
    // Other order, no label, a level never seen.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    fs::write(&path, "colour,name,width,height\ngreen,n1,99.5,1.75\n").unwrap();
    let new = load_with(path.to_str().unwrap(), &reading, &LoadOptions::default(), &mut |_| {}).unwrap();
    assert!(new.labels.iter().all(Option::is_none));
    assert_eq!(floats(&new.data, 0)[..3], floats(&loaded.train, 7)[..3]);
    assert_eq!(floats(&new.data, 0)[3..], [0.0, 0.0, 0.0]);
    // Rows to predict need no names either.
    fs::write(&path, "colour,width,height\nred,1,2\n").unwrap();
    assert_eq!(
        load_with(path.to_str().unwrap(), &reading, &LoadOptions::default(), &mut |_| {}).unwrap().data.id(0),
        "0"
    );
    fs::write(&path, "colour,name,width\nred,n1,1\n").unwrap();
    let error = load_with(path.to_str().unwrap(), &reading, &LoadOptions::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("does not have column \"height\", which the model needs"), "{error}");
    let pictures = load_with(file("folder").to_str().unwrap(), &reading, &LoadOptions::default(), &mut |_| {});
    assert!(pictures.unwrap_err().to_string().contains("holds pictures, but the training data held columns"));
}

#[test]
fn new_pictures_take_the_training_size_and_need_no_labels() {
    let loaded = read(&file("folder"), &plain().with(|options| options.image_size = Some((4, 4))));
    for (source, rows, labelled) in
        [("folder/dog", 2, false), ("folder", 4, true), ("noise.jpg", 1, false), ("folder.zip", 4, true)]
    {
        let path = file(source);
        let new = load_with(path.to_str().unwrap(), &loaded.reading, &LoadOptions::default(), &mut |_| {}).unwrap();
        assert_eq!((new.data.len(), new.labels[0].is_some()), (rows, labelled), "{source}");
        assert_eq!(new.data.shape(), loaded.train.shape());
    }
}

#[test]
fn a_test_table_can_be_named() {
    let loaded =
        read(&file("table.csv"), &table_options().with(|options| options.test = Some(file("table-zstd.parquet"))));
    assert_eq!(loaded.test.unwrap(), loaded.train);
}

#[test]
fn human_labels_replace_cifars_and_keep_the_truth() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("cifar-10")).unwrap();
    fs::copy(file("cifar10.bin"), root.path().join("cifar-10/data_batch_1.bin")).unwrap();
    let options = |which, file_name| {
        plain().with(|options| {
            options.data_dir = Some(root.path().into());
            options.human_labels = Some(which);
            options.human_file = Some(file(file_name));
        })
    };
    for name in ["human.pt", "human.csv"] {
        let worst = load("cifar-10", &options(HumanLabels::Worst, name), &mut |_| {}).unwrap();
        assert_eq!((worst.train.given(), worst.train.truth()), (&[9, 3, 1][..], Some(&[9, 4, 0][..])));
        let aggregate = load("cifar-10", &options(HumanLabels::Aggregate, name), &mut |_| {}).unwrap();
        assert_eq!(aggregate.train.given(), [9, 4, 1]);
        let error = load("cifar-10", &options(HumanLabels::Random1, name), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("has no labels \"random_label1\""), "{error}");
    }
    let other = root.path().join("other.csv");
    fs::write(&other, "index,clean_label,worse_label\n0,9,9\n1,5,5\n2,0,0\n").unwrap();
    let mut wrong = options(HumanLabels::Worst, "human.csv");
    wrong.human_file = Some(other);
    let error = load("cifar-10", &wrong, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("row 1: says the true label is 5, but the picture's is 4"), "{error}");
}

#[test]
fn unreadable_pictures_are_all_named_or_skipped_and_counted() {
    let root = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        fs::create_dir(root.path().join(class)).unwrap();
        fs::copy(file("folder/cat/a.png"), root.path().join(class).join("good.png")).unwrap();
    }
    fs::write(root.path().join("cat/bad.png"), b"no picture").unwrap();
    fs::write(root.path().join("dog/cut.png"), &fs::read(file("folder/cat/a.png")).unwrap()[..40]).unwrap();
    let error = refusal(root.path(), &plain());
    assert!(error.contains("2 unreadable file(s)") && error.contains("cat/bad.png: is not a picture"), "{error}");
    assert!(error.contains("dog/cut.png: "), "{error}");
    let loaded = read(root.path(), &plain().with(|options| options.skip_unreadable = true));
    assert_eq!((loaded.train.len(), loaded.found.skipped.len()), (2, 2));
}

#[test]
fn bad_sources_say_what_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    };
    fs::create_dir(root.path().join("nothing")).unwrap();
    fs::create_dir_all(root.path().join("one/cat")).unwrap();
    fs::copy(file("folder/cat/a.png"), root.path().join("one/cat/a.png")).unwrap();
    let random: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut parquet = fs::read(file("table-snappy.parquet")).unwrap();
    parquet.truncate(1000);
    let cases: [(PathBuf, &str); 11] = [
        (root.path().join("absent.csv"), "cannot open: No such file"),
        (write("empty.csv", b""), "is empty"),
        (write("random.dat", &random), "is of no format this program knows"),
        (root.path().join("nothing"), "holds no pictures"),
        (root.path().join("one"), "holds only one class (\"cat\"), at least 2 are needed"),
        (write("one-class.csv", b"a,label\n1,x\n2,x\n"), "classes of label column \"label\" must be at least 2, got 1"),
        (
            write("unlabelled.csv", b"a,label\n1,\n2,\n3,\n"),
            "classes of label column \"label\" must be at least 2, got 0",
        ),
        (write("no-label.csv", b"a,b\n1,2\n"), "label column must be named (--label)"),
        (write("cut.parquet", &parquet), "is no Parquet file (or it is encrypted, or cut off)"),
        (write("cut.npy", &fs::read(file("big-endian.npy")).unwrap()[..200]), "say where their labels are"),
        (write("lonely-images-idx3-ubyte", &[0, 0, 8, 3, 0]), "is IDX, but the file that belongs to it"),
    ];
    for (path, message) in cases {
        let error = refusal(&path, &plain());
        assert!(error.contains(message), "{error}");
        assert!(error.contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_label_that_is_a_measurement_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("t.csv");
    let rows: String = (0..40).map(|i| format!("{},{}\n", i % 3, i)).collect();
    fs::write(&path, format!("a,y\n{rows}")).unwrap();
    let error = refusal(&path, &plain());
    assert!(error.contains("fewer than half of the rows (is it the label?), got 40 in 40 rows"), "{error}");
}

#[test]
fn a_bomb_in_gzip_or_zip_takes_no_memory() {
    // An IDX file that claims 4 GB of pixels, gzipped; the mutation test watches the memory.
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("train-images-idx3-ubyte.gz");
    let mut encoder = flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &[0, 0, 8, 3, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0, 1, 0, 9, 9]).unwrap();
    encoder.finish().unwrap();
    fs::copy(file("idx/train-labels-idx1-ubyte.gz"), root.path().join("train-labels-idx1-ubyte.gz")).unwrap();
    let error = refusal(root.path(), &plain());
    assert!(error.contains("the array should take 4294901760 bytes, got 2"), "{error}");
}

#[test]
fn a_built_in_set_that_is_nowhere_says_where_it_was_looked_for() {
    let root = tempfile::tempdir().unwrap();
    let options = LoadOptions::default().with(|options| options.data_dir = Some(root.path().into()));
    if std::env::var_os("TARES_DATA").is_none()
        && tares_data::locate(tares_data::Builtin::Cifar100, None).unwrap().is_none()
    {
        let error = load("cifar-100", &options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(root.path().join("cifar-100").to_str().unwrap()), "{error}");
        assert!(error.contains("`tares data fetch cifar-100` downloads it"), "{error}");
    }
    let absent = LoadOptions::default().with(|options| options.data_dir = Some(root.path().join("absent")));
    assert!(load("mnist", &absent, &mut |_| {}).unwrap_err().is_missing_file());
}
