//! `tares consensus`, as it is typed.

mod program;

use program::{command, flowers, json, ran, tares, tares_in};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tares_core::stream;

const NAMES: [&str; 3] = ["iris", "rose", "tulip"];

/// One answer: row, annotator, label.
type Told = (usize, usize, usize);

/// Answers of six people to rows whose true class is `row % 3`: three per row; the last two people answer at random.
fn told(rows: usize) -> Vec<Told> {
    let mut draw = stream(5, "consensus test");
    let mut told = Vec::new();
    for row in 0..rows {
        for &who in draw.permutation(6).iter().take(3) {
            let right = draw.chance([0.95, 0.9, 0.85, 0.8, 0.34, 0.34][who]);
            told.push((row, who, if right { row % 3 } else { draw.below(3) }));
        }
    }
    told
}

fn long(told: &[Told], head: &str, between: &str) -> String {
    let mut text = format!("{}\n", head.replace(',', between));
    for (row, who, label) in told {
        writeln!(text, "{row}{between}p{who}{between}{}", NAMES[*label]).unwrap();
    }
    text
}

/// The column `label` of consensus.csv.
fn labels(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("consensus.csv")).unwrap();
    assert!(text.starts_with("index,id,label,probability,answers,same,majority,gain\n"), "{text}");
    text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect()
}

fn right(labels: &[String]) -> usize {
    labels.iter().enumerate().filter(|(row, label)| NAMES[row % 3] == **label).count()
}

#[test]
fn skills_are_found_and_beat_the_majority() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("crowd.csv"), long(&told(300), "row,annotator,label", ",")).unwrap();
    let truth: String = (0..300).map(|row| format!("{}\n", NAMES[row % 3])).collect();
    fs::write(folder.path().join("truth.csv"), format!("truth\n{truth}")).unwrap();
    let said = tares_in(folder.path(), &["consensus", "crowd.csv", "--truth", "truth.csv", "--out", "out"]).success();
    assert!(said.contains("900 to 300 rows by 6 annotators, 3 classes"), "{said}");
    let out = folder.path().join("out");
    let summary = json(&out.join("summary.json"));
    let truth = &summary["against_truth"];
    let [ours, votes] = ["accuracy", "majority_accuracy"].map(|name| truth[name].as_f64().unwrap());
    assert!(ours > votes + 0.02 && ours > 0.9, "{truth}");
    assert_eq!(right(&labels(&out)), (300.0 * ours).round() as usize);
    let quality = summary["annotator_quality"].as_array().unwrap();
    let order: Vec<&str> = quality.iter().map(|one| one["annotator"].as_str().unwrap()).collect();
    assert!(order[4..].contains(&"p4") && order[4..].contains(&"p5"), "{order:?}");
    let sure = summary["confidence"].as_f64().unwrap();
    assert!((sure - ours).abs() < 0.06, "{sure} {ours}");
    // Every promised file, and a page without anything from elsewhere.
    for file in ["posterior.npy", "annotators.csv", "confusions.csv", "suspects.csv", "worth-asking.csv"] {
        assert!(fs::metadata(out.join(file)).unwrap().len() > 50, "{file}");
    }
    let page = fs::read_to_string(out.join("consensus.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("id=\"gallery\"") && !page.contains("src=\"http"), "no page");
    // The other methods, and JSON.
    for method in ["dawid-skene", "one-coin", "majority"] {
        let found =
            tares_in(folder.path(), &["consensus", "crowd.csv", "--method", method, "--json", "--quiet"]).json();
        assert_eq!((found["summary"]["method"].as_str(), found["summary"]["rows"].as_u64()), (Some(method), Some(300)));
    }
    assert!(folder.path().join("consensus/crowd/consensus.csv").is_file(), "the default directory");
}

#[test]
fn every_format_and_both_shapes_of_tables_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let told = told(90);
    fs::write(place.join("long.csv"), long(&told, "item,worker,answer", ",")).unwrap();
    fs::write(place.join("long.tsv"), long(&told, "item,worker,answer", "\t")).unwrap();
    let lines: String = told
        .iter()
        .map(|(row, who, label)| {
            format!("{{\"item\": \"{row}\", \"worker\": \"p{who}\", \"answer\": \"{}\"}}\n", NAMES[*label])
        })
        .collect();
    fs::write(place.join("long.jsonl"), lines).unwrap();
    let column = |of: &dyn Fn(&Told) -> String| told.iter().map(of).collect::<Vec<String>>();
    let table = tares_data::OutTable::new()
        .column("item", told.iter().map(|told| told.0 as u32).collect::<Vec<u32>>())
        .and_then(|table| table.column("worker", column(&|told| format!("p{}", told.1))))
        .and_then(|table| table.column("answer", column(&|told| NAMES[told.2].to_owned())))
        .unwrap();
    table.write(&place.join("long.parquet"), false).unwrap();
    let mut cells = vec![vec![None; 6]; 90];
    told.iter().for_each(|&(row, who, label)| cells[row][who] = Some(label));
    let mut wide = String::from("id,p0,p1,p2,p3,p4,p5\n");
    for (row, cells) in cells.iter().enumerate() {
        let cells: Vec<&str> = cells.iter().map(|cell| cell.map_or("", |label| NAMES[label])).collect();
        writeln!(wide, "{row},{}", cells.join(",")).unwrap();
    }
    fs::write(place.join("wide.csv"), wide).unwrap();
    let numbers: Vec<u8> =
        cells.iter().flatten().flat_map(|cell| cell.map_or(-1i64, |label| label as i64).to_le_bytes()).collect();
    fs::write(place.join("wide.npy"), tares_data::npy::encode("'<i8'", &[90, 6], &numbers)).unwrap();

    let run = |arguments: &[&str]| {
        let all = [&["consensus"], arguments, &["--out", "out", "--quiet"]].concat();
        tares_in(place, &all).success();
        labels(&place.join("out"))
    };
    let wanted = run(&["long.csv"]);
    assert!(right(&wanted) > 75);
    for file in ["long.tsv", "long.jsonl", "long.parquet"] {
        assert_eq!(run(&[file]), wanted, "{file}");
    }
    assert_eq!(run(&["long.csv", "--row", "item", "--annotator", "#2", "--label", "answer"]), wanted);
    assert_eq!(run(&["wide.csv", "--wide", "p0,p1,p2,p3,p4,p5"]), wanted);
    assert_eq!(run(&["wide.csv", "--wide", "*"]), wanted);
    let numbered: Vec<String> =
        run(&["wide.npy"]).iter().map(|label| NAMES[label.parse::<usize>().unwrap()].to_owned()).collect();
    assert_eq!(numbered, wanted);
}

#[test]
fn judges_learn_from_the_consensus_and_apply_labels_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    flowers(place, 240, NAMES);
    // Two answers per row are often one against one; who knows the flowers can tell.
    let told: Vec<Told> = told(240).into_iter().filter(|told| told.1 != 0).collect();
    fs::write(place.join("crowd.csv"), long(&told, "row,annotator,label", ",")).unwrap();
    let alone = ["consensus", "crowd.csv", "--out", "alone", "--quiet"];
    tares_in(place, &alone).success();
    let ask = ["consensus", "crowd.csv", "--data", "flowers.csv", "--data-label", "species", "--out", "out", "--json"];
    let found = tares_in(place, &ask).json();
    let rounds = found["summary"]["rounds"].as_array().unwrap();
    assert!(!rounds.is_empty() && rounds.len() <= 3, "{rounds:?}");
    assert!(rounds.last().unwrap()["changed"].as_u64().unwrap() <= rounds[0]["changed"].as_u64().unwrap());
    let (before, after) = (right(&labels(&place.join("alone"))), right(&labels(&place.join("out"))));
    assert!(after > before && after > 225, "{before} {after}");
    assert!(!place.join("out/folds").exists());

    // One thread, the same bytes.
    let bytes = || {
        ["consensus.csv", "posterior.npy", "summary.json"].map(|file| fs::read(place.join("out").join(file)).unwrap())
    };
    let first = bytes();
    let mut one = command(&ask);
    one.current_dir(place).env("RAYON_NUM_THREADS", "1");
    ran(one).json();
    assert_eq!(bytes(), first);

    // A table that was labelled badly gets the consensus.
    let bad = fs::read_to_string(place.join("flowers.csv")).unwrap().replacen("\"iris\"", "\"rose\"", 20);
    fs::write(place.join("bad.csv"), bad).unwrap();
    let apply = ["apply-labels", "bad.csv", "out/consensus.csv", "--label", "species", "--out", "fixed"];
    tares_in(place, &apply).success();
    let fixed = fs::read_to_string(place.join("fixed/bad.csv")).unwrap();
    let species = fixed.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().trim_matches('"').to_owned());
    assert_eq!(species.collect::<Vec<_>>(), labels(&place.join("out")));
}

#[test]
fn answers_may_be_columns_of_the_data_and_rows_may_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    flowers(place, 120, NAMES);
    let mut cells = vec![vec![String::new(); 6]; 120];
    told(120).into_iter().for_each(|(row, who, label)| cells[row][who] = NAMES[label].to_owned());
    // Nobody labelled the last row; judges of columns say what it is.
    cells[119].iter_mut().for_each(String::clear);
    let text = fs::read_to_string(place.join("flowers.csv")).unwrap();
    let mut wide = String::from("name,length,width,colour,p0,p1,p2,p3,p4,p5\n");
    let mut long = String::from("row,annotator,label\n");
    for (row, (line, cells)) in text.lines().skip(1).zip(&cells).enumerate() {
        let values: Vec<&str> = line.split(',').take(3).collect();
        writeln!(wide, "f{row},{},{}", values.join(","), cells.join(",")).unwrap();
        for (who, label) in cells.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            writeln!(long, "f{row},p{who},{label}").unwrap();
        }
    }
    fs::write(place.join("all.csv"), wide).unwrap();
    fs::write(place.join("long.csv"), long).unwrap();
    let ask = [
        "consensus",
        "all.csv",
        "--row",
        "name",
        "--wide",
        "p0,p1,p2,p3,p4,p5",
        "--data",
        "all.csv",
        "--id-column",
        "name",
    ];
    let (_, notes) = tares_in(place, &[&ask[..], &["--out", "wide"]].concat()).ends(0);
    assert!(notes.contains("1 rows have no answer"), "{notes}");
    let found = labels(&place.join("wide"));
    assert!(right(&found) > 108 && found[119] == NAMES[119 % 3], "{found:?}");
    let named = fs::read_to_string(place.join("wide/consensus.csv")).unwrap();
    assert!(named.lines().nth(8).unwrap().starts_with("7,f7,"), "{named}");
    // The same answers as a long table by the names of the rows; `--ignore` keeps the annotators' columns from the judges.
    let ask = [
        "consensus",
        "long.csv",
        "--data",
        "all.csv",
        "--id-column",
        "name",
        "--ignore",
        "p0,p1,p2,p3,p4,p5",
        "--out",
        "long",
    ];
    tares_in(place, &ask).success();
    assert_eq!(labels(&place.join("long")), found);
    // Rows are found by their names, so a table in another order is noticed.
    let mut lines: Vec<&str> = named.lines().collect();
    lines.swap(1, 2);
    let moved: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(place.join("moved.csv"), moved.replace("\n1,f1,", "\n0,f1,").replace("\n0,f0,", "\n1,f0,")).unwrap();
    let apply = ["apply-labels", "all.csv", "moved.csv", "--label", "p0", "--id-column", "name", "--out", "no"];
    let said = tares_in(place, &apply).fails(2);
    assert!(said.contains("row 0 is called 'f0', not 'f1'"), "{said}");
}

#[test]
fn probabilities_of_any_model_help() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::write(place.join("crowd.csv"), long(&told(300), "row,annotator,label", ",")).unwrap();
    let mut draw = stream(2, "probabilities");
    let mut probs = String::from("tulip,iris,rose\n"); // names decide, not the order
    for row in 0..300 {
        let guess = if draw.chance(0.85) { row % 3 } else { draw.below(3) };
        let part = |class: usize| if class == guess { 0.8 } else { 0.1 };
        writeln!(probs, "{},{},{}", part(2), part(0), part(1)).unwrap();
    }
    fs::write(place.join("p.csv"), &probs).unwrap();
    tares_in(place, &["consensus", "crowd.csv", "--out", "alone"]).success();
    tares_in(place, &["consensus", "crowd.csv", "--probs", "p.csv", "--out", "out"]).success();
    let (before, after) = (right(&labels(&place.join("alone"))), right(&labels(&place.join("out"))));
    assert!(after > before + 5, "{before} {after}");
    let page = fs::read_to_string(place.join("out/consensus.html")).unwrap();
    assert!(page.contains("with p.csv"));
    let short: String = probs.lines().take(200).map(|line| format!("{line}\n")).collect();
    fs::write(place.join("short.csv"), short).unwrap();
    let said = tares_in(place, &["consensus", "crowd.csv", "--probs", "short.csv", "--out", "no"]).fails(2);
    assert!(said.contains("is not a row number in 0..199"), "{said}");
    let double = probs.replace("0.8", "0.9");
    fs::write(place.join("double.csv"), double).unwrap();
    let said = tares_in(place, &["consensus", "crowd.csv", "--probs", "double.csv", "--out", "no"]).fails(2);
    assert!(said.contains("--normalise"), "{said}");
    assert!(!place.join("no").exists());
}

#[test]
fn cifar_10n_is_known_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cifar-n")).unwrap();
    let mut text =
        String::from("index,clean_label,aggre_label,worse_label,random_label1,random_label2,random_label3\n");
    for row in 0..60 {
        let (class, other) = (row % 10, (row + 3) % 10);
        writeln!(text, "{row},{class},{class},{other},{class},{},{class}", if row % 4 == 0 { other } else { class })
            .unwrap();
    }
    fs::write(folder.path().join("cifar-n/cifar-10n.csv"), text).unwrap();
    let out = folder.path().join("out");
    let (place, out_name) = (folder.path().to_str().unwrap(), out.to_str().unwrap());
    let said = tares(&["consensus", "cifar-10n", "--data-dir", place, "--out", out_name]).success();
    assert!(said.contains("180 to 60 rows by 3 annotators, 10 classes"), "{said}");
    assert!(said.contains("consensus 100.00 % right, majority 100.00 %"), "{said}");
    assert_eq!(labels(&out)[..2], ["airplane", "automobile"]);
}

#[test]
fn bad_input_is_refused_by_name_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let write = |name: &str, text: &str| fs::write(place.join(name), text).unwrap();
    flowers(place, 30, NAMES);
    write("crowd.csv", &long(&told(30), "row,annotator,label", ","));
    write("same.csv", "row,annotator,label\n0,a,yes\n1,b,yes\n");
    write("far.csv", "row,annotator,label\n0,a,iris\n99,b,rose\n");
    write("empty.csv", "row,annotator,label\n0,a,\n1,b,\n");
    write("half.csv", "row,annotator,label\n0,a,iris\n1,,rose\n");
    write("other.csv", "one,two,three\n0,a,iris\n");
    let cases: [(&[&str], &str); 13] = [
        (&["crowd.csv", "--annotator", "annotatr"], "did you mean annotator?"),
        (&["crowd.csv", "--wide", "ann,bob"], "unknown column 'ann'"),
        (&["other.csv"], "no row column among one, two, three: name it with --row"),
        (&["crowd.csv", "--classes", "iris,rose"], "label 'tulip' is not one of the 2 classes ('iris', 'rose')"),
        (&["same.csv"], "every answer is 'yes': a consensus needs at least two classes"),
        (&["empty.csv"], "holds no answer"),
        (&["half.csv"], "line 3: the answer 'rose' has no annotator"),
        (&["far.csv", "--data", "flowers.csv"], "row '99' is not a row number in 0..30"),
        (&["gone.csv"], "gone.csv"),
        (&["crowd.csv", "--method", "dawid"], "dawid-skene"),
        (&["crowd.csv", "--epochs", "3"], "--epochs has no effect without --data"),
        (&["crowd.csv", "--data", "flowers.csv", "--method", "majority"], "it uses the annotators' answers only"),
        (&["crowd.csv", "--truth", "same.csv"], "label 'yes' is not one of the 3 classes"),
    ];
    for (arguments, wanted) in cases {
        let said = tares_in(place, &[&["consensus"], arguments, &["--out", "out"]].concat()).fails(2);
        assert!(said.contains(wanted), "{arguments:?}\n{said}");
        assert!(!place.join("out").exists(), "{arguments:?}");
    }
    // All classes named: one label only is fine, and everybody agrees.
    tares_in(place, &["consensus", "same.csv", "--classes", "no,yes", "--out", "out"]).success();
    assert_eq!(labels(&place.join("out")), ["yes", "yes"]);
}

#[test]
fn the_later_answer_counts_and_rows_without_answers_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let text = "row,annotator,label\n0,a,no\n0,b,yes\n0,c,yes\n2,a,no\n2,b,no\n0,a,yes\n1,a,\n3,c,no\n";
    fs::write(folder.path().join("crowd.csv"), text).unwrap();
    let (out, notes) = tares_in(folder.path(), &["consensus", "crowd.csv", "--out", "out"]).ends(0);
    assert!(notes.contains("1 answers were replaced by a later answer of the same annotator"), "{notes}");
    assert!(notes.contains("1 rows have no answer") && notes.contains("1 lines without a label"), "{notes}");
    assert!(out.contains("6 to 4 rows by 3 annotators"), "{out}");
    let table = fs::read_to_string(folder.path().join("out/consensus.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[1].starts_with("0,0,yes,") && lines[3].starts_with("2,2,no,"), "{table}");
    // Row 1: no answer, no majority.
    assert_eq!(lines[2].split(',').skip(4).take(3).collect::<Vec<_>>(), ["0", "0", ""]);
}

#[test]
fn training_learns_the_soft_consensus() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    flowers(place, 240, NAMES);
    fs::write(place.join("crowd.csv"), long(&told(240), "row,annotator,label", ",")).unwrap();
    let accuracy = |arguments: &[&str]| {
        let all = [&["train", "flowers.csv", "--label", "species", "--overwrite", "--out", "run"], arguments].concat();
        let (_, notes) = tares_in(place, &all).ends(0);
        let result = json(&place.join("run/manifest.json"));
        (notes, result["result"]["test_accuracy_last10"].as_f64().unwrap(), result["rate"]["value"].as_f64())
    };
    // A panel and a network; the rate is what the consensus is not sure of, unless it is given.
    for learner in [&[][..], &["--network", "mlp:16", "--epochs", "30", "--learning-rate", "0.01"]] {
        let (notes, right, rate) = accuracy(&[&["--annotators", "crowd.csv"], learner].concat());
        assert!(notes.contains("labels are the consensus of crowd.csv"), "{notes}");
        assert!(right > 0.9, "{learner:?}: {right}");
        assert!(rate.unwrap() > 0.0 && rate.unwrap() < 0.2, "{rate:?}");
    }
    assert!(fs::read_to_string(place.join("run/spec.toml")).unwrap().contains("annotators = \"crowd.csv\""));
    // The same from a directory that `tares consensus` wrote, and the same numbers again with the same seed.
    let ask =
        ["consensus", "crowd.csv", "--data", "flowers.csv", "--data-label", "species", "--out", "judged", "--quiet"];
    tares_in(place, &ask).success();
    let network = ["--annotators", "judged", "--network", "mlp:16", "--epochs", "5"];
    let (first, again) = (accuracy(&network), accuracy(&network));
    assert_eq!((first.1, first.2), (again.1, again.2));
    // What does not fit is refused.
    fs::write(place.join("lilies.csv"), "row,annotator,label\n0,a,lily\n1,a,iris\n").unwrap();
    fs::write(place.join("far.csv"), "row,annotator,label\n900,a,rose\n1,a,iris\n").unwrap();
    for (annotators, wanted) in [("lilies.csv", "'lily'"), ("far.csv", "row '900'"), ("gone", "gone")] {
        let ask = ["train", "flowers.csv", "--label", "species", "--annotators", annotators, "--out", "no"];
        let said = tares_in(place, &ask).fails(2);
        assert!(said.contains(wanted), "{said}");
        assert!(!place.join("no").exists());
    }
}
