//! `tares audit` of tables that hold labels beside their probabilities: many files, streamed, in any order.

mod program;

use program::{json, tares_in};
use std::collections::BTreeMap;
use std::path::Path;
use tares_core::stream;
use tares_data::OutTable;

const NAMES: [&str; 3] = ["cat", "cow", "dog"];

/// The label of a row.
type LabelOf<'a> = &'a dyn Fn(usize) -> String;

/// Rows with ids: a good judge's probabilities, every eighth label wrong.
fn rows(count: usize) -> Vec<(String, usize, [f32; 3])> {
    let mut draw = stream(5, "tables");
    let row = |number: usize| {
        let truth = draw.below(3);
        let sure = 0.6 + 0.39 * draw.unit() as f32;
        let mut probs = [(1.0 - sure) / 2.0; 3];
        probs[truth] = sure;
        let given = if number % 8 == 3 { (truth + 1) % 3 } else { truth };
        (format!("r{number}"), given, probs)
    };
    (0..count).map(row).collect()
}

/// A table of them: a label by name, a column per class in the order `order`.
fn table(rows: &[(String, usize, [f32; 3])], order: [usize; 3]) -> OutTable {
    let ids: Vec<String> = rows.iter().map(|row| row.0.clone()).collect();
    let labels: Vec<String> = rows.iter().map(|row| NAMES[row.1].to_owned()).collect();
    let start = OutTable::new().column("id", ids).unwrap().column("label", labels).unwrap();
    order.iter().fold(start, |table, &class| {
        let values: Vec<f32> = rows.iter().map(|row| row.2[class]).collect();
        table.column(&format!("p_{}", NAMES[class]), values).unwrap()
    })
}

/// id → (given, suggested, score) of `suspects.csv`.
fn suspects(out: &Path) -> BTreeMap<String, (String, String, String)> {
    let mut reader = csv::Reader::from_path(out.join("suspects.csv")).unwrap();
    let row = |row: BTreeMap<String, String>| {
        (row["id"].clone(), (row["given"].clone(), row["suggested"].clone(), row["score"].clone()))
    };
    reader.deserialize().map(|line| row(line.unwrap())).collect()
}

#[test]
fn one_file_a_folder_a_pattern_and_files_in_any_order_say_the_same() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let all = rows(30_000);
    std::fs::create_dir(at("lake")).unwrap();
    table(&all, [0, 1, 2]).write(&at("one.parquet"), false).unwrap();
    table(&all[20_000..], [2, 0, 1]).write(&at("lake/a.parquet"), false).unwrap();
    table(&all[..7], [0, 1, 2]).write(&at("lake/b.parquet"), false).unwrap();
    table(&all[7..20_000], [1, 0, 2]).write(&at("lake/c.parquet"), false).unwrap();
    for empty in ["lake/0-before-all-others.parquet", "lake/between.parquet"] {
        table(&[], [1, 0, 2]).write(&at(empty), false).unwrap();
    }
    // A file per class: each lacks the others.
    std::fs::create_dir(at("classes")).unwrap();
    for class in [2, 0, 1] {
        let of_class: Vec<_> = all.iter().filter(|row| row.1 == class).cloned().collect();
        table(&of_class, [0, 2, 1]).write(&at(&format!("classes/{class}.parquet")), false).unwrap();
    }
    let forms: [&[&str]; 6] = [
        &["classes"],
        &["one.parquet"],
        &["lake"],
        &["lake/*.parquet"],
        &["lake/c.parquet", "lake/b.parquet", "lake/a.parquet"],
        &["--probs", "lake/b.parquet", "--probs", "lake/c.parquet", "--probs", "lake/a.parquet"],
    ];
    let mut expected = None;
    for (number, form) in forms.iter().enumerate() {
        let out = format!("audit-{number}");
        let arguments = [&["audit", "--id-column", "id", "--out", &out, "--exit-zero"][..], form].concat();
        tares_in(place.path(), &arguments).success();
        let summary = json(&at(&out).join("summary.json"));
        let found = (suspects(&at(&out)), summary["noise_rate"].clone(), summary["transition"].clone());
        assert_eq!((summary["rows"].as_u64(), &summary["classes"][2]), (Some(30_000), &"dog".into()), "{form:?}");
        assert!((found.1.as_f64().unwrap() - 0.125).abs() < 0.02, "{form:?}: {}", found.1);
        assert_eq!(&found, expected.get_or_insert(found.clone()), "{form:?}");
    }
    let (found, ..) = expected.unwrap();
    let wrong = |id: &String| id[1..].parse::<usize>().unwrap() % 8 == 3;
    assert!(found.keys().filter(|id| wrong(id)).count() > 3500 && found.keys().all(wrong), "{}", found.len());
}

#[test]
fn the_same_rows_as_two_arrays_give_the_same_answer_without_ids() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let all = rows(25_000);
    table(&all[..9000], [0, 1, 2]).write(&at("a.parquet"), false).unwrap();
    table(&all[9000..], [0, 1, 2]).write(&at("b.parquet"), false).unwrap();
    tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--out", "tables", "--exit-zero"]).success();
    let bytes: Vec<u8> = all.iter().flat_map(|row| row.2).flat_map(f32::to_le_bytes).collect();
    std::fs::write(at("p.npy"), tares_data::npy::encode("'<f4'", &[25_000, 3], &bytes)).unwrap();
    let bytes: Vec<u8> = all.iter().flat_map(|row| (row.1 as i32).to_le_bytes()).collect();
    std::fs::write(at("y.npy"), tares_data::npy::encode("'<i4'", &[25_000], &bytes)).unwrap();
    tares_in(place.path(), &["audit", "--labels", "y.npy", "--probs", "p.npy", "--out", "arrays", "--exit-zero"])
        .success();
    let (tables, arrays) = (json(&at("tables/summary.json")), json(&at("arrays/summary.json")));
    for key in ["noise_rate", "noise_rate_interval", "transition", "suspects"] {
        assert_eq!(tables[key], arrays[key], "{key}");
    }
    let lines = |out: &str| std::fs::read_to_string(at(out).join("labels-suggested.csv")).unwrap();
    assert_eq!(lines("tables").lines().count(), lines("arrays").lines().count());
}

#[test]
fn a_column_that_numbers_the_rows_is_no_class() {
    let place = tempfile::tempdir().unwrap();
    let all = rows(200);
    let start = OutTable::new().column("id", (0..200u32).collect::<Vec<_>>()).unwrap();
    let start = start.column("label", all.iter().map(|row| row.1 as u32).collect::<Vec<_>>()).unwrap();
    let table = (0..3).fold(start, |table, class| {
        let values: Vec<f32> = all.iter().map(|row| row.2[class]).collect();
        table.column(&format!("p{class}"), values).unwrap()
    });
    table.write(&place.path().join("n.parquet"), false).unwrap();
    for more in [&["--out", "a"][..], &["--out", "b", "--id-column", "id"]] {
        tares_in(place.path(), &[&["audit", "n.parquet", "--exit-zero"][..], more].concat()).success();
        let summary = json(&place.path().join(more[1]).join("summary.json"));
        assert_eq!(summary["classes"].as_array().unwrap().len(), 3, "{summary}");
    }
}

#[test]
fn rows_that_lack_something_are_named_or_left_out() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let mut all = rows(60);
    table(&all[..40], [0, 1, 2]).write(&at("a.parquet"), false).unwrap();
    all[45].2[1] = f32::NAN;
    table(&all[40..], [0, 1, 2]).write(&at("b.parquet"), false).unwrap();
    let error = tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--out", "x"]).fails(2);
    assert!(error.contains("b.parquet: probability must be a finite number, got NaN at row 5, class 1"), "{error}");
    assert!(error.contains("--missing skip") && !at("x").exists(), "{error}");
    let arguments = ["audit", "a.parquet", "b.parquet", "--out", "y", "--missing", "skip", "--exit-zero"];
    let said = tares_in(place.path(), &arguments).success();
    assert!(said.contains("left out    1 rows"), "{said}");
    let summary = json(&at("y/summary.json"));
    assert_eq!((summary["rows"].as_u64(), summary["missing_rows"].as_u64()), (Some(59), Some(1)));
    // Without a label.
    let labels: Vec<String> =
        (0..60).map(|row| if row == 50 { String::new() } else { NAMES[all[row].1].to_owned() }).collect();
    let start = OutTable::new().column("label", labels).unwrap();
    let full = NAMES.iter().enumerate().fold(start, |table, (class, name)| {
        let values = rows(60).iter().map(|row| row.2[class]).collect::<Vec<f32>>();
        table.column(name, values).unwrap()
    });
    full.write(&at("c.parquet"), false).unwrap();
    let error = tares_in(place.path(), &["audit", "--probs", "c.parquet", "--out", "x"]).fails(2);
    assert!(error.contains("c.parquet: row 50: has no label") && error.contains("--missing skip"), "{error}");
    tares_in(place.path(), &["audit", "--probs", "c.parquet", "--missing", "skip", "--out", "z", "--exit-zero"])
        .success();
    let text = std::fs::read_to_string(at("z/labels-suggested.csv")).unwrap();
    assert!(text.contains("\n50,50,,\n"), "{text}");
}

#[test]
fn tables_with_other_columns_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let all = rows(40);
    table(&all, [0, 1, 2]).write(&at("a.parquet"), false).unwrap();
    let values = |class: usize| all.iter().map(|row| row.2[class]).collect::<Vec<f32>>();
    let labels: Vec<String> = all.iter().map(|row| NAMES[row.1].to_owned()).collect();
    let other = OutTable::new().column("label", labels).unwrap();
    let other = other.column("p_cat", values(0)).unwrap().column("p_mouse", values(1)).unwrap();
    other.column("p_dog", values(2)).unwrap().write(&at("b.parquet"), false).unwrap();
    let error = tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--out", "x"]).fails(2);
    assert!(error.contains("b.parquet: must have the columns of a.parquet: no 'p_cow' here, but 'p_mouse'"), "{error}");
    let error =
        tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--id-column", "id", "--out", "x"]).fails(2);
    assert!(error.contains("b.parquet: has no column 'id' that names the rows"), "{error}");
    let error =
        tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--label", "species", "--out", "x"]).fails(2);
    assert!(error.contains("a.parquet: has no column 'species': there are id, label"), "{error}");
    // Labels that the first file does not have.
    let mouse = |row: usize| if row == 20 { "mouse".to_owned() } else { NAMES[all[row].1].to_owned() };
    let numbers = |row: usize| all[row].1.to_string();
    let forms: [(&str, LabelOf<'_>, &str); 2] = [("c.parquet", &mouse, "mouse"), ("d.parquet", &numbers, "0")];
    for (name, label, unknown) in forms {
        let start = OutTable::new().column("label", (0..40).map(label).collect::<Vec<String>>()).unwrap();
        let table = NAMES
            .iter()
            .enumerate()
            .fold(start, |table, (class, name)| table.column(&format!("p_{name}"), values(class)).unwrap());
        table.write(&at(name), false).unwrap();
        let error = tares_in(place.path(), &["audit", "a.parquet", name, "--out", "x"]).fails(2);
        let said = format!("{name}: label \"{unknown}\" is none of the classes of a.parquet: ");
        assert!(error.contains(&said), "{error}");
    }
    // A folder per label, as engines write partitions.
    std::fs::create_dir_all(at("lake/label=cat")).unwrap();
    let start = OutTable::new().column("p_cat", values(0)).unwrap().column("p_cow", values(1)).unwrap();
    start.column("p_dog", values(2)).unwrap().write(&at("lake/label=cat/part-0.parquet"), false).unwrap();
    let error = tares_in(place.path(), &["audit", "lake", "--out", "x"]).fails(2);
    assert!(error.contains("no label column") || error.contains("has no column"), "{error}");
    assert!(error.contains("names of folders are not read"), "{error}");
    let error = tares_in(place.path(), &["audit", "no/*.parquet", "--out", "x"]).fails(2);
    assert!(error.contains("no file has a name of this pattern"), "{error}");
    let error =
        tares_in(place.path(), &["audit", "a.parquet", "b.parquet", "--labels", "y.npy", "--out", "x"]).fails(2);
    assert!(error.contains("--labels has no effect in an audit of tables"), "{error}");
    assert!(!at("x").exists());
}

#[test]
fn columns_in_another_order_are_the_same_also_where_names_say_nothing() {
    let place = tempfile::tempdir().unwrap();
    let all = rows(600);
    let write = |name: &str, rows: &[(String, usize, [f32; 3])], order: [usize; 3]| {
        let labels: Vec<String> = rows.iter().map(|row| NAMES[row.1].to_owned()).collect();
        let start = OutTable::new().column("label", labels).unwrap();
        let table = order.iter().fold(start, |table, &class| {
            let values: Vec<f32> = rows.iter().map(|row| row.2[class]).collect();
            table.column(&format!("score_{}", class + 1), values).unwrap()
        });
        table.write(&place.path().join(name), false).unwrap();
    };
    write("a.parquet", &all[..300], [0, 1, 2]);
    write("b.parquet", &all[300..], [0, 1, 2]);
    write("c.parquet", &all[300..], [2, 1, 0]);
    let mut found = Vec::new();
    for (second, out) in [("b.parquet", "b"), ("c.parquet", "c")] {
        tares_in(place.path(), &["audit", "a.parquet", second, "--out", out, "--exit-zero"]).success();
        found.push(std::fs::read_to_string(place.path().join(out).join("suspects.csv")).unwrap());
    }
    assert_eq!(found[0], found[1]);
}

#[test]
fn a_table_of_probabilities_is_one_with_another_column_and_with_a_bad_row() {
    let place = tempfile::tempdir().unwrap();
    let mut all = rows(60);
    let sure: Vec<f32> = all.iter().map(|row| row.2[0]).collect();
    table(&all, [0, 1, 2]).column("confidence", sure).unwrap().write(&place.path().join("a.parquet"), false).unwrap();
    let (said, _) = tares_in(place.path(), &["audit", "a.parquet", "--out", "x", "--exit-zero"]).ends(0);
    assert!(!said.contains("linear"), "{said}");
    let listed = tares_in(place.path(), &["audit", "--probs", "a.parquet", "--out", "y", "--exit-zero"]).success();
    assert_eq!(said.replace("x/", "y/"), listed);
    all[7].2[1] = 3.0;
    table(&all, [0, 1, 2]).write(&place.path().join("b.parquet"), false).unwrap();
    let error = tares_in(place.path(), &["audit", "b.parquet", "--out", "z"]).fails(2);
    assert!(error.contains("b.parquet: probability must be in [0, 1], got 3 at row 7, class 1"), "{error}");
    // Features: the program says why it trains judges.
    let start =
        OutTable::new().column("label", NAMES.repeat(20).into_iter().map(str::to_owned).collect::<Vec<_>>()).unwrap();
    let features = |shift: f32| (0..60).map(|row| shift + row as f32).collect::<Vec<f32>>();
    let table = start.column("width", features(1.0)).unwrap().column("height", features(2.0)).unwrap();
    table.write(&place.path().join("c.parquet"), false).unwrap();
    let (_, notes) =
        tares_in(place.path(), &["audit", "c.parquet", "--judges", "linear", "--out", "q", "--exit-zero"]).ends(0);
    assert!(!notes.contains("are no probabilities"), "{notes}");
    let (_, notes) = tares_in(place.path(), &["audit", "c.parquet", "--out", "r", "--exit-zero"]).ends(0);
    assert!(
        notes.contains("are no probabilities: the numbers of 60 of the first 60 rows are no parts of 1"),
        "{notes}"
    );
}
