//! Columns of dates, whatever the format, and label columns as people really have them.

mod reading;

use reading::{floats, plain, read, refusal};
use std::fs;
use std::path::Path;
use tares_data::{LoadOptions, Loaded, load, load_with};

const DATES: [&str; 4] = ["2024-05-17", "2024-02-29T12:00:00Z", "1969-12-31 06:00:00+00:00", "2024/5/18"];
const DAYS: [f32; 4] = [19_860.0, 19_782.5, -0.75, 19_861.0];

fn written(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A CSV of `rows` rows with one column and labels a, b, a, b, ….
fn csv(rows: usize, cell: impl Fn(usize) -> String) -> String {
    let line = |row: usize| format!("{},{}\n", cell(row), ["a", "b"][row % 2]);
    format!("day,label\n{}", (0..rows).map(line).collect::<String>())
}

fn notes(loaded: &Loaded) -> String {
    loaded.found.column_notes.join("\n")
}

#[test]
fn dates_are_days_since_1970_in_text_and_in_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..40)
        .map(|row| format!("{{\"day\": \"{}\", \"label\": \"{}\"}}\n", DATES[row % 4], ["a", "b"][row % 2]))
        .collect();
    let files = [
        written(folder.path(), "t.csv", &csv(40, |row| DATES[row % 4].into())),
        written(folder.path(), "t.jsonl", &lines),
    ];
    for file in files {
        let loaded = read(&file, &plain());
        let first: Vec<f32> = (0..4).map(|row| floats(&loaded.train, row)[0]).collect();
        assert_eq!(first, DAYS, "{}", file.display());
        assert_eq!(loaded.found.columns[0].role, "date");
        let said = "column \"day\" holds dates (days since 1970): \"2024-05-17\" is read as 19860";
        assert_eq!(loaded.found.column_notes, [said]);
    }
}

#[test]
fn dates_that_differ_in_every_row_are_not_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let text = csv(300, |row| format!("20{:02}-{:02}-{:02}", row / 100, 1 + row % 12, 1 + row % 28));
    let loaded = read(&written(folder.path(), "t.csv", &text), &plain());
    assert_eq!(loaded.train.shape(), tares_core::Shape::Flat(1));
    assert!(!notes(&loaded).contains("left out"), "{}", notes(&loaded));
}

#[test]
fn a_word_among_dates_is_missing_and_a_day_that_does_not_exist_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = csv(40, |row| if row == 7 { "unknown".into() } else { DATES[row % 4].into() });
    let loaded = read(&written(folder.path(), "t.csv", &unknown), &plain());
    assert_eq!(floats(&loaded.train, 7)[1], 1.0);
    assert!(
        notes(&loaded).contains("\"day\" holds dates: \"unknown\" (1 cell) is read as a missing value"),
        "{}",
        notes(&loaded)
    );
    let odd = csv(40, |row| if row == 7 { "2023-02-29".into() } else { DATES[row % 4].into() });
    let loaded = read(&written(folder.path(), "t.csv", &odd), &plain());
    assert!(notes(&loaded).contains("\"2023-02-29\" is not a date (1 such cell)"), "{}", notes(&loaded));
}

#[test]
fn dates_that_may_be_two_days_are_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let text = csv(40, |row| format!("{:02}/05/2024,{row}.5", 1 + row % 28)).replace("day,", "day,size,");
    let loaded = read(&written(folder.path(), "t.csv", &text), &plain());
    assert!(
        notes(&loaded).contains(
            "\"01/05/2024\" looks like a date, but day and month may be either way round; write dates as 2024-05-17"
        ),
        "{}",
        notes(&loaded)
    );
}

#[test]
fn new_rows_are_read_as_dates_where_training_had_dates() {
    let folder = tempfile::tempdir().unwrap();
    let trained = read(&written(folder.path(), "t.csv", &csv(40, |row| DATES[row % 4].into())), &plain());
    let predict = |name: &str, text: &str| {
        let path = written(folder.path(), name, text);
        load_with(path.to_str().unwrap(), &trained.reading, &LoadOptions::default(), &mut |_| {})
            .map_err(|e| e.to_string())
    };
    let csv = predict("new.csv", "day\n2024/05/17\n").unwrap();
    let json = predict("new.jsonl", "{\"day\": \"2024-05-17T00:00\"}\n").unwrap();
    assert_eq!((floats(&csv.data, 0), floats(&json.data, 0)), (vec![19_860.0], vec![19_860.0]));
    let seconds = predict("seconds.jsonl", "{\"day\": 1715904000}\n").unwrap_err();
    assert!(seconds.contains("column \"day\" held dates in training and holds \"1715904000\" here"), "{seconds}");
    let other = predict("other.csv", "day\n17.05.2024\n").unwrap_err();
    assert!(other.contains("line 2: column \"day\" held dates in training and holds \"17.05.2024\" here"), "{other}");
    let without = predict("without.csv", "other\n1\n").unwrap_err();
    assert!(
        without.ends_with("does not have column \"day\", which the model needs: its columns are \"other\""),
        "{without}"
    );
}

#[test]
fn a_class_called_none_stays_a_class_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let classes = ["None", "mild", "severe"];
    let mut table = String::from("size,label\n");
    let mut lines = String::new();
    for row in 0..30 {
        table.push_str(&format!("{row}.5,{}\n", classes[row % 3]));
        lines.push_str(&format!("{{\"size\": {row}.5, \"label\": \"{}\"}}\n", classes[row % 3]));
    }
    // Rows without a label have an empty cell, or what R and SQL write.
    table.push_str("1,\n2,NA\n3,NULL\n");
    lines.push_str(
        "{\"size\": 1, \"label\": null}\n{\"size\": 2, \"label\": \"NA\"}\n{\"size\": 3, \"label\": \"NULL\"}\n",
    );
    let named = plain().with(|options| options.label = Some("label".into()));
    for (name, text) in [("t.csv", &table), ("t.jsonl", &lines)] {
        for options in [&plain(), &named] {
            let loaded = read(&written(folder.path(), name, text), options);
            assert_eq!(
                (loaded.train.class_names(), loaded.train.len()),
                (&classes.map(String::from)[..], 30),
                "{name}"
            );
            let said = notes(&loaded);
            assert!(
                said.contains("\"None\" (10 rows) read as a class; a row without a label has an empty cell"),
                "{said}"
            );
            assert!(said.contains("\"NA\" (1 row) and \"NULL\" (1 row) read as no label"), "{said}");
            assert!(said.contains("3 rows have no label"), "{said}");
        }
    }
}

#[test]
fn the_label_column_that_was_guessed_is_said_and_a_second_one_pointed_out() {
    let folder = tempfile::tempdir().unwrap();
    let line = |row: usize| format!("{row}.5,{0},{0}\n", ["a", "b"][row % 2]);
    let text = format!("size,label,class\n{}", (0..30).map(line).collect::<String>());
    let path = written(folder.path(), "t.csv", &text);
    let loaded = read(&path, &plain());
    assert!(loaded.found.notes.contains(&"the labels are column \"label\" (--label names another)".to_owned()));
    assert!(
        notes(&loaded).contains("column \"class\" is called like a label and is learnt from"),
        "{}",
        notes(&loaded)
    );
    let named = read(&path, &plain().with(|options| options.label = Some("class".into())));
    assert!(!named.found.notes.iter().any(|note| note.starts_with("the labels are")), "{:?}", named.found.notes);
    let ignored = read(&path, &plain().with(|options| options.ignore = vec!["class".into()]));
    assert_eq!(notes(&ignored), "");
}

#[test]
fn a_quantity_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let diabetes = |row: usize| format!("{row}.5,{}.0\n", 25 + (row * 137) % 214 * 3 / 2);
    let text = format!("size,y\n{}", (0..442).map(diabetes).collect::<String>());
    let said = refusal(&written(folder.path(), "t.csv", &text), &plain());
    assert!(said.contains("a quantity, not classes. Cut it into ranges"), "{said}");
}

#[test]
fn texts_of_the_test_part_that_training_does_not_have_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let table = |city: &str| {
        let line =
            |row: usize| format!("{},{}\n", if row.is_multiple_of(3) { city } else { "Oslo" }, ["a", "b"][row % 2]);
        format!("city,label\n{}", (0..30).map(line).collect::<String>())
    };
    let train = written(folder.path(), "t.csv", &table("Rome"));
    let test = written(folder.path(), "new.csv", &table("Atlantis"));
    let loaded =
        load(train.to_str().unwrap(), &plain().with(|options| options.test = Some(test)), &mut |_| {}).unwrap();
    let said = "column \"city\": 10 of 30 test rows hold a text that no training row has, such as \"Atlantis\"";
    assert!(notes(&loaded).contains(said), "{}", notes(&loaded));
}
