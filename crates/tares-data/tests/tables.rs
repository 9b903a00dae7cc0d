//! Tables as people really have them: numbers written in other ways, columns that are no features, odd encodings. Nothing may
//! change or disappear without a sentence.

mod reading;

use reading::{file, floats, plain, read, refusal};
use std::fs;
use std::path::PathBuf;
use tares_data::{Format, LoadOptions, Loaded, OutTable, load_with, write_relabelled};

/// A file in a folder of its own.
struct Sample {
    folder: tempfile::TempDir,
    path: PathBuf,
}

fn sample(name: &str, content: impl AsRef<[u8]>) -> Sample {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    Sample { folder, path }
}

fn features(loaded: &Loaded) -> Vec<String> {
    loaded.reading.table.as_ref().unwrap().feature_names()
}

/// The cell of a row.
type Cell<'a> = &'a dyn Fn(usize) -> String;

/// A table of `rows` rows with the cells of one column from `cell`.
fn column_of(rows: usize, delimiter: char, cell: impl Fn(usize) -> String) -> String {
    let line = |row: usize| format!("{}{delimiter}{}\n", cell(row), ["a", "b"][row % 2]);
    format!("size{delimiter}label\n{}", (0..rows).map(line).collect::<String>())
}

#[test]
fn parquet_numbers_keep_sign_and_size() {
    let options = plain().with(|options| {
        options.id_column = Some("code".into());
        options.label = Some("species".into());
    });
    let loaded = read(&file("odd-columns.parquet"), &options);
    assert_eq!(features(&loaded), ["u32", "u64", "price", "mass", "day"]);
    let row = floats(&loaded.train, 7);
    assert_eq!(row, [4e9, 9_223_372_036_854_777_856.0, -12.25, -123_456_789_012_345_678_901.5, 7.0]);
    // Every digit of a name is kept, even where a 64-bit float has none.
    assert_eq!(loaded.train.id(0), "9007199254740993");
}

#[test]
fn parts_of_a_table_with_other_columns_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, columns: &[&str]| {
        let labels: Vec<String> = (0..20).map(|row| ["a", "b"][row % 2].to_owned()).collect();
        let start = OutTable::new().column("label", labels).unwrap();
        let numbers: Vec<f64> = (0..20).map(f64::from).collect();
        let table = columns.iter().fold(start, |table, column| table.column(column, numbers.clone()).unwrap());
        table.write(&folder.path().join(name), false).unwrap();
    };
    part("part-0.parquet", &["height", "width"]);
    part("part-1.parquet", &["height"]);
    let said = refusal(folder.path(), &plain());
    assert!(said.contains("part-1.parquet: must have the columns of ") && said.contains("no 'width' here"), "{said}");
    part("part-1.parquet", &["height", "width", "day"]);
    assert!(refusal(folder.path(), &plain()).contains("'day' only here"));
    part("part-1.parquet", &["width", "height"]);
    assert!(refusal(folder.path(), &plain()).contains("in another order here"));
}

#[test]
fn every_parquet_column_that_is_left_out_is_listed_with_its_reason() {
    let options = plain().with(|options| options.label = Some("species".into()));
    let found = read(&file("odd-columns.parquet"), &options).found;
    let role = |name: &str| found.columns.iter().find(|column| column.name == name).map(|column| column.role.clone());
    assert_eq!(role("tags").as_deref(), Some("left out (holds lists)"));
    assert_eq!(role("embedding").as_deref(), Some("left out (holds lists)"));
    assert_eq!(role("blob").as_deref(), Some("left out (holds bytes)"));
    assert_eq!(role("__index_level_0__").as_deref(), Some("left out (the index of a pandas table)"));
    for name in ["tags", "embedding", "blob", "__index_level_0__"] {
        let sentence = format!("column \"{name}\" is left out");
        assert_eq!(found.column_notes.iter().filter(|note| note.starts_with(&sentence)).count(), 1, "{name}");
    }
    assert!(found.column_notes.contains(&"column \"day\" is read as a number (days since 1970)".to_owned()));
}

#[test]
fn a_spreadsheets_error_in_a_column_of_numbers_is_a_missing_value() {
    for word in ["#N/A", "#DIV/0!", "n/a", "<NA>"] {
        let file = sample("t.csv", column_of(30, ',', |row| if row == 4 { word.into() } else { format!("{row}.5") }));
        let loaded = read(&file.path, &plain());
        assert_eq!(features(&loaded), ["size", "size is missing"], "{word}");
        assert_eq!(floats(&loaded.train, 4), [0.0, 1.0]);
        assert_eq!(floats(&loaded.train, 5), [5.5, 0.0]);
    }
}

#[test]
fn one_word_in_a_column_of_numbers_is_a_missing_value_and_said() {
    let text = column_of(40, ',', |row| if row == 4 { "unknown".into() } else { format!("{row}.5") });
    let loaded = read(&sample("t.csv", text).path, &plain());
    assert_eq!(features(&loaded), ["size", "size is missing"]);
    let said = "column \"size\" holds numbers: \"unknown\" (1 cell) is read as a missing value";
    assert_eq!(loaded.found.column_notes, [said]);
}

#[test]
fn other_notations_of_numbers_are_read_and_said() {
    let cases: [(char, Cell<'_>, f32, &str); 4] = [
        (';', &|row| format!("{row},25"), 3.25, "has decimal commas: \"0,25\" is read as 0.25"),
        (
            ',',
            &|row| format!("\"{},{:03}\"", row + 1, row),
            4003.0,
            "has commas between thousands: \"1,000\" is read as 1000",
        ),
        (',', &|row| format!("{row}.7%"), 3.7, "is in percent: \"0.7%\" is read as 0.7"),
        ('\t', &|row| format!("{row},7 %"), 3.7, "has decimal commas: \"0,7 %\" is read as 0.7"),
    ];
    for (delimiter, cell, third, said) in cases {
        let loaded = read(&sample("t.csv", column_of(30, delimiter, cell)).path, &plain());
        assert_eq!(features(&loaded), ["size"], "{said}");
        assert_eq!(floats(&loaded.train, 3), [third], "{said}");
        assert_eq!(loaded.found.column_notes[0], format!("column \"size\" {said}"));
    }
}

#[test]
fn an_ambiguous_comma_means_what_the_rest_of_the_file_says() {
    let with = |other: &str, delimiter: char| {
        let line =
            |row: usize| format!("\"{},{:03}\"{delimiter}{other}{delimiter}{}\n", row + 1, row, ["a", "b"][row % 2]);
        let text = format!("size{delimiter}other{delimiter}label\n{}", (0..30).map(line).collect::<String>());
        floats(&read(&sample("t.csv", text).path, &plain()).train, 3)[0]
    };
    assert_eq!(with("1.5", ','), 4003.0);
    assert_eq!(with("\"1,5\"", ','), 4.003);
    assert_eq!(with("7", ','), 4003.0);
    assert_eq!(with("7", ';'), 4.003);
    assert_eq!(with("1.5", ';'), 4003.0);
}

#[test]
fn points_between_thousands_are_understood_where_commas_are_decimal_marks() {
    let people = |row: usize| if row == 5 { "950".to_owned() } else { format!("{}.{:03}", row + 1, 10 * row) };
    let line = |row: usize| format!("{};{row},5;{}\n", people(row), ["a", "b"][row % 2]);
    let text = format!("people;share;label\n{}", (0..30).map(line).collect::<String>());
    let loaded = read(&sample("t.csv", text).path, &plain());
    assert_eq!(floats(&loaded.train, 3), [4030.0, 3.5]);
    assert_eq!(floats(&loaded.train, 5), [950.0, 5.5]);
    assert_eq!(loaded.found.column_notes[0], "column \"people\" has decimal commas: \"1.000\" is read as 1000");
}

#[test]
fn a_column_without_a_value_is_left_out_whatever_new_rows_hold_there() {
    let table = sample("t.csv", "size,coat,label\n1,?,a\n2,,b\n3,?,a\n4,,b\n");
    let loaded = read(&table.path, &plain());
    assert_eq!(features(&loaded), ["size"]);
    assert!(loaded.found.column_notes.iter().any(|note| note.contains("\"coat\" is left out")), "{:?}", loaded.found);
    let new = sample("new.csv", "size,coat\n2,wool\n");
    let rows = load_with(new.path.to_str().unwrap(), &loaded.reading, &plain(), &mut |_| {}).unwrap();
    assert_eq!(rows.data.len(), 1);
}

#[test]
fn new_rows_are_read_in_the_notation_of_the_training_rows() {
    let train = read(&sample("t.csv", column_of(30, ';', |row| format!("{row},25"))).path, &plain());
    // Alone, these cells would be thousands or plain numbers.
    let new = sample("new.csv", "size;label\n\"3,750\";a\n1.250;b\n7;a\n");
    let rows = load_with(new.path.to_str().unwrap(), &train.reading, &plain(), &mut |_| {}).unwrap();
    assert_eq!([0, 1, 2].map(|row| floats(&rows.data, row)[0]), [3.75, 1250.0, 7.0]);
    let text = sample("new.csv", "size;label\n\"3,750\";a\ntall;b\n");
    let error = load_with(text.path.to_str().unwrap(), &train.reading, &plain(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.ends_with("line 3: column \"size\" held numbers in training and holds \"tall\" here"), "{error}");
    // A test file too.
    let options = plain().with(|options| options.test = Some(new.path.clone()));
    let train = sample("t.csv", column_of(30, ';', |row| format!("{row},25")));
    assert_eq!(floats(read(&train.path, &options).test.as_ref().unwrap(), 0), [3.75]);
}

#[test]
fn text_among_numbers_is_pointed_out() {
    let text = column_of(60, ',', |row| if row % 3 == 0 { format!("{row} cm") } else { format!("{}", row % 7) });
    let loaded = read(&sample("t.csv", text).path, &plain());
    assert!(
        loaded
            .found
            .column_notes
            .contains(&"column \"size\" is read as text: \"0 cm\" is not a number (20 such cells)".into()),
        "{:?}",
        loaded.found.column_notes
    );
}

#[test]
fn the_index_column_of_pandas_is_no_feature() {
    for header in ["", "Unnamed: 0"] {
        let line = |row: usize| format!("{row},{}.5,{}\n", 7 * row % 30, ["a", "b"][row / 15]);
        let text = format!("{header},size,label\n{}", (0..30).map(line).collect::<String>());
        let loaded = read(&sample("t.csv", text).path, &plain());
        assert_eq!(features(&loaded), ["size"], "{header}");
        assert_eq!(loaded.found.column_notes.len(), 1, "{:?}", loaded.found.column_notes);
        assert!(loaded.found.column_notes[0].contains("is left out (the index of a pandas table"));
        // New rows don't need it, and one with it is fine.
        for new in ["size\n1.5\n", "Unnamed: 0,size\n9,1.5\n"] {
            let new = sample("new.csv", new);
            let rows = load_with(new.path.to_str().unwrap(), &loaded.reading, &plain(), &mut |_| {}).unwrap();
            assert_eq!((floats(&rows.data, 0), rows.notes.len()), (vec![1.5], 0));
        }
    }
}

#[test]
fn a_column_that_new_rows_have_and_training_had_not_is_said_to_be_ignored() {
    let train = read(&sample("t.csv", column_of(30, ',', |row| format!("{row}.5"))).path, &plain());
    let new = sample("new.csv", "size,colour\n1.5,red\n");
    let rows = load_with(new.path.to_str().unwrap(), &train.reading, &plain(), &mut |_| {}).unwrap();
    assert_eq!(rows.notes, ["column \"colour\" was not in the training data and is ignored"]);
}

#[test]
fn lines_are_right_after_quoted_line_ends_and_blank_lines() {
    for end in ["\n", "\r\n"] {
        let text = format!("a,note,label{end}{end}{end}1,\"two{end}lines\",x{end}2,\"\",y{end}{end}3,z,{end}4,z,x");
        // Header 1, blank 2 and 3, row on 4 and 5, row on 6, blank 7, row on 8, the row that is too long on 9.
        let error = refusal(&sample("t.csv", format!("{text},5")).path, &plain());
        assert!(error.contains("line 9: 4 cells, but the first line has 3"), "{error}");
    }
}

#[test]
fn rows_without_a_label_are_set_aside_and_keep_their_place_in_the_file() {
    let text = "size,label\n1,x\n2,\n3,y\n4,NA\n5,x\n6,y\n";
    let file = sample("t.csv", text);
    let loaded = read(&file.path, &plain());
    assert_eq!(loaded.train.given(), [0, 1, 0, 1]);
    let places: Vec<String> = (0..4).map(|row| loaded.train.id(row)).collect();
    assert_eq!(places, ["0", "2", "4", "5"]);
    let unlabelled = loaded.unlabelled.as_ref().unwrap();
    assert_eq!((unlabelled.len(), unlabelled.id(0), unlabelled.id(1)), (2, "1".to_owned(), "3".to_owned()));
    let note = "2 rows have no label: they take no part in training, testing or audit";
    assert!(loaded.found.column_notes.iter().any(|said| said == note), "{:?}", loaded.found.column_notes);

    // Written back, they still have none.
    let out = tempfile::tempdir().unwrap();
    let labels = loaded.train.clone().relabel(vec![1, 1, 0, 1]).unwrap();
    tares_data::write_relabelled(&loaded, &labels, out.path()).unwrap();
    assert_eq!(std::fs::read_to_string(out.path().join("t.csv")).unwrap(), text.replacen("1,x", "1,y", 1));

    // The split for testing draws from labelled rows alone.
    let split = read(&file.path, &LoadOptions::default().with(|options| options.test_fraction = 0.5));
    assert_eq!((split.train.len(), split.test.unwrap().len(), split.unlabelled.unwrap().len()), (2, 2, 2));
}

#[test]
fn a_tsv_with_commas_in_its_header_is_split_at_tabs() {
    let file = sample("t.tsv", "size, in cm, with bark\tlabel\n1.5\tx\n2.5\ty\n3.5\tx\n");
    assert_eq!(features(&read(&file.path, &plain())), ["size, in cm, with bark"]);
}

#[test]
fn utf_16_is_read_and_latin_1_is_recognised() {
    let text = "größe,label\n1.5,ä\n2.5,b\n3.5,ä\n";
    let utf_8 = read(&sample("t.csv", text).path, &plain());
    for big in [false, true] {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        let bytes: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect();
        let utf_16 = read(&sample("t.csv", bytes).path, &plain());
        assert_eq!((utf_16.train, utf_16.reading), (utf_8.train.clone(), utf_8.reading.clone()));
    }
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let error = refusal(&sample("t.csv", latin).path, &plain());
    assert!(error.contains("line 1: \"gr\u{fffd}\u{fffd}e\" is not UTF-8. Is the file Latin-1"), "{error}");
    assert!(error.contains("iconv -f WINDOWS-1252 -t UTF-8"), "{error}");
}

#[test]
fn json_lines_are_a_table() {
    let line = |row: usize| {
        let label = ["ant", "bee"][row % 2];
        let extra = if row == 2 { "null".to_owned() } else { format!("{}", row % 3) };
        format!(
            "{{\"size\": {row}.5, \"legs\": {extra}, \"colour\": \"red\", \"parts\": [1, 2], \"label\": \"{label}\"}}\n"
        )
    };
    let text: String = (0..12).map(line).collect();
    for name in ["t.jsonl", "t.txt"] {
        let loaded = read(&sample(name, &text).path, &plain());
        assert_eq!(loaded.found.format, Format::Jsonl);
        assert_eq!(features(&loaded), ["size", "legs", "legs is missing", "colour=red"]);
        assert_eq!(floats(&loaded.train, 7), [7.5, 1.0, 0.0, 1.0]);
        assert_eq!(floats(&loaded.train, 2), [2.5, 0.0, 1.0, 1.0]);
        assert_eq!(loaded.train.class_names(), ["ant", "bee"]);
        assert_eq!(loaded.found.column_notes, ["column \"parts\" is left out (holds lists or objects)"]);
    }
    let error = refusal(&sample("t.jsonl", format!("{text}not json\n")).path, &plain());
    assert!(error.contains("t.jsonl: line 13: is no JSON object"), "{error}");
    let error = refusal(&sample("t.json", "[\n {\"size\": 1, \"label\": \"a\"}\n]\n").path, &plain());
    assert!(error.contains("save it as JSON Lines"), "{error}");
    // Numbers as labels keep their digits, whichever way the label column is found.
    let text: String =
        (0..12).map(|row| format!("{{\"x\": {row}, \"label\": {}}}\n", 9_007_199_254_740_993u64 + row % 2)).collect();
    let file = sample("t.jsonl", text);
    for label in [None, Some("label".to_owned())] {
        let loaded = read(&file.path, &plain().with(|options| options.label = label));
        assert_eq!(loaded.train.class_names(), ["9007199254740993", "9007199254740994"]);
    }
}

#[test]
fn json_lines_come_back_with_other_labels_and_nothing_else_changed() {
    let text = "{\"size\": 1.50, \"label\" : \"x\"}\n\n{\"label\":\"y\",\"size\":2}\n{\"label\": \"x\", \"size\": 3}\n";
    let file = sample("t.jsonl", text);
    let loaded = read(&file.path, &plain());
    let data = loaded.train.clone().relabel(vec![1, 1, 0]).unwrap();
    let out = file.folder.path().join("out");
    write_relabelled(&loaded, &data, &out).unwrap();
    assert_eq!(fs::read_to_string(out.join("t.jsonl")).unwrap(), text.replacen("\"x\"", "\"y\"", 1));
}

#[test]
fn a_file_keeps_its_delimiter_when_it_is_relabelled() {
    // Counted, commas would win; the reader knows better.
    let text = "size, in cm, with bark\tlabel\n1.5\tx\n2.5\ty\n";
    let file = sample("t.tsv", text);
    let loaded = read(&file.path, &plain());
    let data = loaded.train.clone().relabel(vec![1, 1]).unwrap();
    let out = file.folder.path().join("out");
    write_relabelled(&loaded, &data, &out).unwrap();
    assert_eq!(fs::read_to_string(out.join("t.tsv")).unwrap(), text.replace("\tx", "\ty"));
}

#[test]
fn a_quantity_is_not_taken_for_classes() {
    let line = |row: usize| format!("{},{}\n", row % 13, 1000 + 37 * (row % 560));
    let text = format!("a,target\n{}", (0..1300).map(line).collect::<String>());
    let error = refusal(&sample("t.csv", text).path, &plain());
    assert!(error.contains("label column \"target\": holds 560 different numbers"), "{error}");
    assert!(error.contains("a quantity, not classes"), "{error}");
}

#[test]
fn two_spellings_of_one_class_are_pointed_out() {
    let text = "a,label\n1,Adelie\n2,adelie\n3,Adelie\n2,Gentoo\n";
    let notes = read(&sample("t.csv", text).path, &plain()).found.column_notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("\"Adelie\" (2 rows) and \"adelie\" (1 row) differ only in spelling"), "{notes:?}");
}

#[test]
fn new_rows_may_have_some_labels() {
    let train = read(&sample("t.csv", column_of(30, ',', |row| format!("{row}.5"))).path, &plain());
    let new = sample("new.csv", "size,label\n1.5,b\n2.5,\n3.5,a\n");
    let rows = load_with(new.path.to_str().unwrap(), &train.reading, &plain(), &mut |_| {}).unwrap();
    assert_eq!(rows.labels, [Some(1), None, Some(0)]);
}

#[test]
fn a_jpeg_that_is_cut_off_is_refused_like_a_png() {
    let whole = fs::read(file("noise.jpg")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for class in ["cat", "dog"] {
        fs::create_dir(folder.path().join(class)).unwrap();
        fs::write(folder.path().join(class).join("whole.jpg"), &whole).unwrap();
    }
    read(folder.path(), &plain());
    fs::write(folder.path().join("dog/cut.jpg"), &whole[..whole.len() * 2 / 3]).unwrap();
    let error = refusal(folder.path(), &plain());
    assert!(error.contains("dog/cut.jpg: is a JPEG without its end (is it cut off?)"), "{error}");
    let skipped = read(folder.path(), &plain().with(|options| options.skip_unreadable = true));
    assert_eq!((skipped.train.len(), skipped.found.skipped.len()), (2, 1));
}
