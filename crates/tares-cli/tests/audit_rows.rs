//! What `tares audit` finds in the rows themselves, and says before anybody trusts its answer: copies, a column that tells the label.

mod program;

use program::tares_in;
use std::fs;
use std::path::Path;
use tares_core::stream;

/// 150 rows of five measurements, every fifth label wrong: header, cells and given label of each row, and the truth.
fn rows() -> (Vec<String>, Vec<&'static str>, Vec<&'static str>) {
    let mut draw = stream(4, "rows");
    let (mut cells, mut given, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..150 {
        let class = draw.below(2);
        let numbers: Vec<String> = (0..5).map(|_| format!("{:.4}", 2.0 * class as f64 + draw.normal())).collect();
        cells.push(numbers.join(","));
        truth.push(["cold", "warm"][class]);
        given.push(["cold", "warm"][if row % 5 == 0 { 1 - class } else { class }]);
    }
    (cells, given, truth)
}

fn write(folder: &Path, name: &str, header: &str, rows: impl Iterator<Item = String>) {
    let rows: String = rows.map(|row| row + "\n").collect();
    fs::write(folder.join(name), format!("{header}\n{rows}")).unwrap();
}

/// The audit of t.csv: its summary, after `sentences` were found on the terminal, in the summary and on the page.
fn audited(folder: &Path, more: &[&str], sentences: &[&str]) -> serde_json::Value {
    let ask = [&["audit", "t.csv", "--label", "kind", "--out", "out", "--exit-zero"][..], more].concat();
    let (_, said) = tares_in(folder, &ask).ends(0);
    let summary = fs::read_to_string(folder.join("out/summary.json")).unwrap();
    let page = fs::read_to_string(folder.join("out/audit.html")).unwrap();
    for sentence in sentences {
        for text in [&said, &summary, &page] {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
    serde_json::from_str(&summary).unwrap()
}

#[test]
fn rows_that_are_there_twice_are_not_judged_by_their_copies() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, given, truth) = rows();
    let twice = || (0..150).chain(0..150);
    write(folder.path(), "t.csv", "a,b,c,d,e,kind", twice().map(|row| format!("{},{}", cells[row], given[row])));
    write(folder.path(), "truth.csv", "truth", twice().map(|row| truth[row].to_owned()));
    let said = ["150 rows are copies of others (equal inputs): copies are judged by models that saw none of them"];
    let summary = audited(folder.path(), &["--truth", "truth.csv"], &said);
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.9, "{summary}");
    assert!((summary["noise_rate"].as_f64().unwrap() - 0.2).abs() < 0.06, "{}", summary["noise_rate"]);
}

#[test]
fn a_column_that_tells_the_label_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, given, _) = rows();
    let code = |row: usize| if given[row] == "warm" { 1 } else { 7 };
    let rows = (0..150).map(|row| format!("{},{},{}", cells[row], code(row), given[row]));
    write(folder.path(), "t.csv", "a,b,c,d,e,code,kind", rows);
    audited(
        folder.path(),
        &["--judges", "linear"],
        &["alone tells 100.0 % of the labels: it may be a copy of the label"],
    );
}

#[test]
fn an_id_in_a_file_sorted_by_label_is_no_feature() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, given, truth) = rows();
    let mut order: Vec<usize> = (0..150).collect();
    order.sort_by_key(|&row| given[row]);
    let line = |(place, &row): (usize, &usize)| format!("{},{},{}", 1000 + 3 * place, cells[row], given[row]);
    write(folder.path(), "truth.csv", "truth", order.iter().map(|&row| truth[row].to_owned()));
    write(folder.path(), "t.csv", "id,a,b,c,d,e,kind", order.iter().enumerate().map(line));
    let said = ["is left out (named like an id, with a number that rises or falls from every row to the next)"];
    let summary = audited(folder.path(), &["--truth", "truth.csv"], &said);
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.9, "{summary}");
    // Under another name it may be a time: it stays, and both sentences are said.
    write(folder.path(), "t.csv", "hour,a,b,c,d,e,kind", order.iter().enumerate().map(line));
    audited(folder.path(), &["--judges", "linear"], &["say so with --id-column", "alone tells 100.0 % of the labels"]);
}

#[test]
fn judges_that_agree_with_nearly_all_labels_are_no_proof_that_these_are_right() {
    let folder = tempfile::tempdir().unwrap();
    // Neither column tells the class alone, their sum does.
    let mut draw = stream(8, "easy");
    let rows = (0..200).map(|row| {
        let (first, class) = (draw.normal() * 20.0, row % 2);
        format!("{first:.3},{:.3},{}", 10.0 * class as f64 - first + draw.normal(), ["x", "y"][class])
    });
    write(folder.path(), "t.csv", "a,b,kind", rows);
    audited(folder.path(), &["--judges", "linear"], &["which is rare in real data"]);
}
