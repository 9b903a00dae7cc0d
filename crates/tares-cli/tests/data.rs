//! `tares data`: list and inspect.

mod program;

use program::{flowers, tares, tares_in};

#[test]
fn the_list_names_every_built_in_set() {
    let out = tares(&["data", "list"]).success();
    for name in ["digits", "mnist", "fashion-mnist", "cifar-10", "cifar-100", "tiny-imagenet"] {
        assert!(out.contains(name), "{name}");
    }
    let sets = tares(&["data", "list", "--json"]).json();
    assert_eq!(sets[0]["place"], "inside the program");
}

#[test]
fn inspect_says_what_was_found() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 90, ["iris", "rose", "tulip"]);
    let out = tares_in(place.path(), &["data", "inspect", "flowers.csv", "--label", "species"]).success();
    for part in ["CSV", "72 to train on, 18 to test on", "iris", "colour", "text, 2 levels"] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    let digits = tares(&["data", "inspect", "digits", "--json"]).json();
    assert_eq!((digits["train_rows"].as_u64(), digits["test_rows"].as_u64()), (Some(3823), Some(1797)));
}

#[test]
fn digits_need_no_download() {
    assert!(tares(&["data", "fetch", "digits"]).success().contains("inside the program"));
    let error = tares(&["data", "fetch", "mnst"]).fails(2);
    assert!(error.contains("did you mean mnist?"), "{error}");
}

/// A table with a pandas index, thousands, and a column of lists in words of its own.
fn odd_flowers(place: &std::path::Path) {
    let line = |row: usize| {
        let class = row % 2;
        format!("{row},{}.{},\"{},{:03}\",{}\n", 1 + 3 * class, row % 10, 1 + row % 9, row, ["iris", "rose"][class])
    };
    let text: String = (0..60).map(line).collect();
    std::fs::write(place.join("odd.csv"), format!("Unnamed: 0,length,price,species\n{text}")).unwrap();
}

#[test]
fn every_command_names_the_columns_that_are_not_used_as_they_stand() {
    let place = tempfile::tempdir().unwrap();
    odd_flowers(place.path());
    let said = |err: &str, what: &str| {
        for note in ["column \"Unnamed: 0\" is left out", "column \"price\" has commas between thousands"] {
            assert_eq!(err.matches(note).count(), 1, "{what}: {note}\n{err}");
        }
    };
    for line in [
        "train odd.csv --label species --noise-rate 0.1 --epochs 2 --out run",
        "audit odd.csv --label species --folds 2 --epochs 2 --out audit",
        "compare --data odd.csv --label species --methods standard --noise none --epochs 2 --out many",
        "corrupt odd.csv --label species --noise exact:0.1 --out noisy",
    ] {
        let ran = tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>());
        let code = i32::from(line.starts_with("audit") && ran.code() == 1);
        said(&ran.ends(code).1, line);
    }
    // The files that stay say it too.
    for file in ["run/manifest.json", "audit/summary.json", "audit/audit.html"] {
        let text = std::fs::read_to_string(place.path().join(file)).unwrap();
        assert!(text.contains("Unnamed: 0") && text.contains("is left out"), "{file}: {text}");
    }
    // On the page of inspect they are notes; new rows need no index, and what they have too much is named.
    let (out, err) = tares_in(place.path(), &["data", "inspect", "odd.csv", "--label", "species"]).ends(0);
    said(&out, "inspect");
    assert!(!err.contains("Unnamed"), "{err}");
    std::fs::write(place.path().join("new.csv"), "length,price,mood\n1.5,\"2,000\",good\n").unwrap();
    let (_, err) = tares_in(place.path(), &["predict", "run", "new.csv"]).ends(0);
    assert!(err.contains("column \"mood\" was not in the training data and is ignored"), "{err}");
}

#[test]
fn a_damaged_parquet_file_is_one_error_and_no_bug_report() {
    let place = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tares-data/tests/files/table-groups.parquet");
    let mut bytes = std::fs::read(file).unwrap();
    // The first page says that it refers to a dictionary, and there is none: Parquet's own reader panics.
    assert_eq!(bytes[17..19], [0x15, 0x00]);
    bytes[18] = 0x10;
    std::fs::write(place.path().join("t.parquet"), bytes).unwrap();
    let error = tares_in(place.path(), &["data", "inspect", "t.parquet", "--label", "species"]).fails(2);
    assert_eq!(error.trim(), "error: t.parquet: cannot be read as Parquet: its pages are damaged");
}
