//! Columns of texts: recognised or named, judged by their words, shown on the page, written back with other labels.

mod program;

use program::{messages, tares_in};
use std::fs;
use std::path::Path;

fn summary(folder: &Path) -> serde_json::Value {
    program::json(&folder.join("out/summary.json"))
}

#[test]
fn wrong_labels_of_texts_are_found_and_the_page_marks_the_words_that_say_so() {
    let folder = tempfile::tempdir().unwrap();
    messages(folder.path(), 400);
    let ask = ["audit", "messages.csv", "--truth", "truth.csv", "--out", "out"];
    let (said, notes) = tares_in(folder.path(), &ask).ends(1);
    assert!(said.contains("linear") && said.contains("bayes") && !said.contains("trees"), "{said}");
    assert!(notes.contains("column \"message\" is read as text, by its words"), "{notes}");
    let summary = summary(folder.path());
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.95, "{}", summary["against_truth"]);
    assert!((summary["noise_rate"].as_f64().unwrap() - 0.1).abs() < 0.03, "{}", summary["noise_rate"]);
    let page = fs::read_to_string(folder.path().join("out/audit.html")).unwrap();
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let first = &data["suspects"][0]["texts"][0];
    assert_eq!(first["name"], "message");
    let words: Vec<&str> = first["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(!words.is_empty() && words.iter().all(|word| first["text"].as_str().unwrap().contains(word)), "{first}");
}

#[test]
fn the_same_seed_gives_the_same_suspects_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    messages(folder.path(), 200);
    let suspects = |threads: &str| {
        let mut command = program::command(&["audit", "messages.csv", "--out", threads, "--exit-zero"]);
        command.current_dir(folder.path()).env("RAYON_NUM_THREADS", threads);
        program::ran(command).success();
        fs::read(folder.path().join(threads).join("suspects.csv")).unwrap()
    };
    assert_eq!(suspects("1"), suspects("3"));
}

#[test]
fn texts_beside_numbers_are_judged_together() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(messages(folder.path(), 300)).unwrap();
    // The number says nothing; the subject repeats the message of every other row.
    let mixed: String = text
        .lines()
        .enumerate()
        .map(|(row, line)| match (row, line.split_once(',').unwrap()) {
            (0, (label, message)) => format!("{label},size,subject,{message}\n"),
            (_, (label, message)) if row % 2 == 0 => format!("{label},{row},,{message}\n"),
            (_, (label, message)) => format!("{label},{row},{message},\n"),
        })
        .collect();
    fs::write(folder.path().join("mixed.csv"), mixed).unwrap();
    let ask = ["audit", "mixed.csv", "--truth", "truth.csv", "--out", "out", "--exit-zero"];
    tares_in(folder.path(), &ask).success();
    let summary = summary(folder.path());
    let judges: Vec<&str> =
        summary["judges"].as_array().unwrap().iter().map(|j| j["judge"].as_str().unwrap()).collect();
    assert_eq!(judges, ["linear", "trees", "bayes", "forest"]);
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.9, "{}", summary["against_truth"]);
}

#[test]
fn reviewed_labels_go_back_into_texts() {
    let folder = tempfile::tempdir().unwrap();
    messages(folder.path(), 100);
    fs::write(folder.path().join("changes.csv"), "index,label\n0,spam\n1,spam\n").unwrap();
    let ask = ["apply-labels", "messages.csv", "changes.csv", "--text", "message", "--out", "corrected"];
    assert!(tares_in(folder.path(), &ask).success().contains("of 100 labels changed"));
    let before = fs::read_to_string(folder.path().join("messages.csv")).unwrap();
    let after = fs::read_to_string(folder.path().join("corrected/messages.csv")).unwrap();
    let message = |line: &str| line.split_once(',').unwrap().1.to_owned();
    assert!(before.lines().map(message).eq(after.lines().map(message)));
    assert!(after.lines().nth(1).unwrap().starts_with("spam,") && after.lines().nth(2).unwrap().starts_with("spam,"));
}

#[test]
fn json_lines_are_read_with_missing_and_nested_keys() {
    let folder = tempfile::tempdir().unwrap();
    let csv = fs::read_to_string(messages(folder.path(), 200)).unwrap();
    let line = |(row, line): (usize, &str)| {
        let (label, message) = line.split_once(',').unwrap();
        match row % 20 {
            0 => serde_json::json!({"label": label, "meta": {"from": "x"}}),
            1 => serde_json::json!({"label": label, "message": null, "meta": [1, 2]}),
            _ => serde_json::json!({"message": message, "label": label}),
        }
        .to_string()
            + "\n"
    };
    let lines: String = csv.lines().skip(1).enumerate().map(line).collect();
    fs::write(folder.path().join("m.jsonl"), &lines).unwrap();
    let (_, notes) = tares_in(folder.path(), &["audit", "m.jsonl", "--out", "out", "--exit-zero"]).ends(0);
    assert!(notes.contains("column \"meta\" is left out (holds lists or objects)"), "{notes}");
    let found = tares_in(folder.path(), &["data", "inspect", "m.jsonl", "--test-fraction", "0"]).success();
    assert!(found.contains("text, read by its words, 20 missing") && found.contains("shape    1 text"), "{found}");

    let wrong = |text: &str, said: &str| {
        fs::write(folder.path().join("bad.jsonl"), text).unwrap();
        let error = tares_in(folder.path(), &["audit", "bad.jsonl", "--out", "bad"]).fails(2);
        assert!(error.contains(said) && !folder.path().join("bad").exists(), "{error}");
    };
    wrong(&format!("{lines}[1]\n"), "line 201: is no JSON object");
    wrong("{\"message\": \"a\", \"label\": {\"name\": \"spam\"}}\n", "column \"label\" holds lists or objects");
    wrong("{\"message\": \"a\"}\n{\"message\": \"b\"}\n", "label column must be named");
}

#[test]
fn columns_that_are_no_texts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let csv = fs::read_to_string(messages(folder.path(), 60)).unwrap();
    let more: String = csv
        .lines()
        .enumerate()
        .map(|(row, line)| if row == 0 { format!("{line},size,empty\n") } else { format!("{line},{row}.5,\n") })
        .collect();
    fs::write(folder.path().join("m.csv"), more).unwrap();
    let refused = |column: &str, said: &str| {
        let error = tares_in(folder.path(), &["audit", "m.csv", "--text", column, "--out", "out"]).fails(2);
        assert!(error.contains(said) && !folder.path().join("out").exists(), "{column}: {error}");
    };
    refused("mesage", "did you mean message?");
    refused("size", "text column \"size\": holds numbers, not texts");
    refused("empty", "text column \"empty\": has no text in any row");
    refused("label", "the label column cannot be a text column as well");
    let judges = |judges: &str, said: &str| {
        let ask = ["audit", "messages.csv", "--judges", judges, "--out", "out"];
        let error = tares_in(folder.path(), &ask).fails(2);
        assert!(error.contains(said), "{judges}: {error}");
    };
    judges("trees", "the rows are texts alone");
    judges("mlp:8", "the rows are texts alone");
    // Short texts look like names. If there is nothing else, the way out is said.
    let names: String = (0..300).map(|row| format!("note {row},{}\n", ["a", "b"][row % 2])).collect();
    fs::write(folder.path().join("names.csv"), format!("note,label\n{names}")).unwrap();
    let error = tares_in(folder.path(), &["audit", "names.csv", "--out", "out"]).fails(2);
    assert!(error.contains("as names do (note); --text \"note\" reads"), "{error}");
    fs::write(folder.path().join("n.csv"), "x,label\n1,a\n2,b\n3,a\n4,b\n").unwrap();
    let error = tares_in(folder.path(), &["audit", "n.csv", "--judges", "bayes", "--out", "out"]).fails(2);
    assert!(error.contains("no column is a text"), "{error}");
}

#[test]
fn texts_of_any_length_and_script_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::from("label,text\n");
    for row in 0..60 {
        let (label, text) = match row % 2 {
            0 => ("good", "这本书非常好看，孩子很喜欢 👍🏽 ☀️"),
            _ => ("bad", "质量太差了，再也不会买这家的东西 👎"),
        };
        rows.push_str(&format!("{label},\"{text} {row}\"\n"));
    }
    rows.push_str(&format!("good,\"{}\"\n", "这本书 👍 很长 ".repeat(60_000))); // more than 1 MB
    fs::write(folder.path().join("t.csv"), &rows).unwrap();
    let ask = ["audit", "t.csv", "--out", "out", "--exit-zero", "--json"];
    let found = tares_in(folder.path(), &ask).json();
    assert_eq!(found["summary"]["suspects"], 0, "{found}");
    assert!(fs::metadata(folder.path().join("out/audit.html")).unwrap().len() < 300_000);

    // Texts that are all alike say nothing: no suspect is sure, and nothing fails.
    let alike: String = (0..40).map(|row| format!("{},\"the same old text here\"\n", ["a", "b"][row % 2])).collect();
    fs::write(folder.path().join("alike.csv"), format!("label,text\n{alike}")).unwrap();
    tares_in(folder.path(), &["audit", "alike.csv", "--text", "text", "--out", "alike", "--exit-zero"]).success();

    fs::write(folder.path().join("latin.csv"), b"label,text\na,caf\xe9 au lait pour tous\nb,the tea is cold now\n")
        .unwrap();
    let error = tares_in(folder.path(), &["audit", "latin.csv", "--text", "text", "--out", "latin"]).fails(2);
    assert!(error.contains("line 2") && error.contains("UTF-8"), "{error}");
}

#[test]
fn a_model_is_trained_on_texts_and_used() {
    let folder = tempfile::tempdir().unwrap();
    messages(folder.path(), 300);
    tares_in(folder.path(), &["train", "messages.csv", "--out", "run"]).success();
    let new = "message\nplease claim the free prize now\nthanks for dinner at home tomorrow\n";
    fs::write(folder.path().join("new.csv"), new).unwrap();
    tares_in(folder.path(), &["predict", "run", "new.csv", "--out", "answers.csv"]).success();
    let answers = fs::read_to_string(folder.path().join("answers.csv")).unwrap();
    let at = answers.lines().next().unwrap().split(',').position(|name| name == "predicted").unwrap();
    let predicted: Vec<&str> = answers.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
    assert_eq!(predicted, ["spam", "ham"], "{answers}");
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("<mark>"), "the words that speak for a suggestion are not marked");
    fs::write(folder.path().join("other.csv"), "subject\nhello\n").unwrap();
    let error = tares_in(folder.path(), &["predict", "run", "other.csv"]).fails(2);
    assert!(error.contains("message"), "{error}");
}
