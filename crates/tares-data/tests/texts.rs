//! Columns of texts: recognised or named, kept beside the features, read alike in new rows.

mod reading;

use reading::{plain, read, refusal};
use std::fs;
use std::path::{Path, PathBuf};
use tares_core::{Shape, TextColumn};
use tares_data::{LoadOptions, Rule, load_with};

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

/// 40 rows: a review that differs in every row, a name, a town, and a size.
fn reviews(folder: &Path) -> PathBuf {
    let row = |row: usize| {
        let review = if row == 5 { String::new() } else { format!("\"I liked number {row}, and would come again\"") };
        let (name, town, label) = (format!("Smith {row}"), ["Rome", "Oslo"][row % 2], ["good", "bad"][row % 2]);
        format!("{review},{name},{town},{row}.5,{label}\n")
    };
    file(folder, "t.csv", &format!("review,name,town,size,label\n{}", (0..40).map(row).collect::<String>()))
}

fn rules(loaded: &tares_data::Loaded) -> Vec<(String, Rule)> {
    let columns = &loaded.reading.table.as_ref().unwrap().columns;
    columns.iter().map(|column| (column.name.clone(), column.rule.clone())).collect()
}

#[test]
fn a_text_of_several_words_is_kept_and_a_name_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = read(&reviews(folder.path()), &plain());
    let rules = rules(&loaded);
    assert_eq!((&rules[0].1, &rules[1].1), (&Rule::Words, &Rule::Ignored));
    assert!(matches!(rules[2].1, Rule::Text { .. }) && matches!(rules[3].1, Rule::Number { .. }));
    assert_eq!(loaded.train.shape(), Shape::Flat(3)); // two towns and the size
    let [TextColumn { name, texts }] = loaded.train.texts() else { panic!("{:?}", loaded.train.texts()) };
    assert_eq!((name.as_str(), texts.len()), ("review", 40));
    assert_eq!(&*texts[7], "I liked number 7, and would come again");
    assert_eq!(&*texts[5], ""); // missing
    assert_eq!(loaded.found.shape, "3 numbers and 1 text");
    assert!(loaded.found.column_notes.iter().any(|note| note.starts_with("column \"review\" is read as text")));
}

#[test]
fn a_named_column_is_text_whatever_it_looks_like() {
    let folder = tempfile::tempdir().unwrap();
    let path = reviews(folder.path());
    let named =
        |names: &[&str]| plain().with(|options| options.text = names.iter().map(|name| (*name).to_owned()).collect());
    let loaded = read(&path, &named(&["town", "name"]));
    let names: Vec<&str> = loaded.train.texts().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["review", "name", "town"]); // in the order of the file
    assert_eq!(&*loaded.train.texts()[2].texts[1], "Oslo");
    let refused = |name: &str| refusal(&path, &named(&[name]));
    assert!(refused("revue").contains("unknown text column 'revue': did you mean review?"), "{}", refused("revue"));
    assert!(refused("size").contains("text column \"size\": holds numbers, not texts"), "{}", refused("size"));
    assert!(refused("label").contains("the label column cannot be a text column as well"), "{}", refused("label"));
}

#[test]
fn rows_of_texts_alone_are_a_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: usize| format!("it is a fine day number {row},{}\n", ["a", "b"][row % 2]);
    let path = file(folder.path(), "t.csv", &format!("text,label\n{}", (0..30).map(row).collect::<String>()));
    let options = LoadOptions::default().with(|options| options.test_fraction = 0.2);
    let loaded = read(&path, &options);
    assert_eq!((loaded.train.shape(), loaded.found.shape.as_str()), (Shape::Flat(0), "1 text"));
    let test = loaded.test.as_ref().unwrap();
    assert_eq!((loaded.train.len(), test.len(), test.texts()[0].texts.len()), (24, 6, 6));
    // Every test text is the one of its row.
    for index in 0..test.len() {
        assert_eq!(&*test.texts()[0].texts[index], format!("it is a fine day number {}", test.id(index)));
    }
}

#[test]
fn new_rows_have_texts_even_if_they_look_like_numbers_or_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = read(&reviews(folder.path()), &plain());
    let new = |name: &str, content: &str| {
        let path = file(folder.path(), name, content);
        load_with(path.to_str().unwrap(), &loaded.reading, &LoadOptions::default(), &mut |_| {})
    };
    let rows = new("new.csv", "size,review,town\n1,42,Rome\n2,,Oslo\n").unwrap();
    assert_eq!(rows.data.texts(), [TextColumn::new("review", ["42", ""])]);
    let rows =
        new("new.jsonl", "{\"review\": 42, \"size\": 1, \"town\": \"Rome\"}\n{\"size\": 1, \"town\": \"Rome\"}\n");
    assert_eq!(rows.unwrap().data.texts(), [TextColumn::new("review", ["42", ""])]);
    let error = new("other.csv", "size,town\n1,Rome\n").unwrap_err().to_string();
    assert!(error.contains("does not have column \"review\", which the model needs"), "{error}");
}

#[test]
fn the_rule_of_a_text_survives_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let reading = read(&reviews(folder.path()), &plain()).reading;
    let json = serde_json::to_string(&reading).unwrap();
    assert!(json.contains("{\"name\":\"review\",\"rule\":\"words\"}"), "{json}");
    assert_eq!(serde_json::from_str::<tares_data::Reading>(&json).unwrap(), reading);
}
