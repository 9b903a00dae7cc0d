//! `tares predict`: classes and probabilities in three formats, prepared like the training rows.

mod program;

use program::{flowers, tares_in};
use std::path::Path;

fn trained(place: &Path) {
    flowers(place, 300, ["iris", "rose", "tulip"]);
    let line = "train flowers.csv --label species --noise-rate 0.1 --epochs 20 --out run";
    tares_in(place, &line.split_whitespace().collect::<Vec<_>>()).success();
}

#[test]
fn rows_come_back_with_a_class_and_probabilities() {
    let place = tempfile::tempdir().unwrap();
    trained(place.path());
    // Columns in another order, no label, a level never seen in training.
    let new = "colour,width,length\nred,3.0,1.0\ngreen,1.0,5.0\n";
    std::fs::write(place.path().join("new.csv"), new).unwrap();
    let (out, _) = tares_in(place.path(), &["predict", "run", "new.csv"]).ends(0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "id,predicted,p:iris,p:rose,p:tulip");
    assert!(lines[1].starts_with("0,iris,") && lines[2].starts_with("1,tulip,"), "{out}");
    let sum: f64 = lines[1].split(',').skip(2).map(|cell| cell.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{out}");
}

#[test]
fn three_formats_and_the_accuracy_when_labels_are_there() {
    let place = tempfile::tempdir().unwrap();
    trained(place.path());
    for file in ["answers.csv", "answers.parquet", "answers.npy"] {
        let result = tares_in(place.path(), &["predict", "run", "flowers.csv", "--out", file, "--json"]).json();
        assert!(result["accuracy"].as_f64().unwrap() > 0.95, "{result}");
        assert_eq!(result["rows"], 300);
        assert!(place.path().join(file).is_file());
    }
    let npy = std::fs::read(place.path().join("answers.npy")).unwrap();
    let header = String::from_utf8_lossy(&npy[..128]);
    assert!(npy.starts_with(b"\x93NUMPY") && header.contains("'shape': (300, 3)"), "{header}");
    let end = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    assert_eq!((end % 64, npy.len() - end), (0, 300 * 3 * 4));
}

#[test]
fn mistakes_say_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    trained(place.path());
    let error = |arguments: &[&str]| tares_in(place.path(), arguments).fails(2);
    let text = error(&["predict", "nowhere", "flowers.csv"]);
    assert!(text.contains("nowhere: no trained model here"), "{text}");
    let text = error(&["predict", "run", "digits"]);
    assert!(text.contains("holds pictures, but the training data held columns"), "{text}");
    let text = error(&["predict", "run", "flowers.csv", "--out", "answers.xls"]);
    assert!(text.contains("answers.xls"), "{text}");
    std::fs::write(place.path().join("less.csv"), "length,colour\n1,red\n").unwrap();
    let text = error(&["predict", "run", "less.csv"]);
    assert!(text.contains("width"), "{text}");
}

#[test]
fn rows_with_and_without_labels_are_predicted_together() {
    let place = tempfile::tempdir().unwrap();
    trained(place.path());
    let new = "length,width,colour,species\n1.0,3.0,red,iris\n5.0,1.0,blue,\n3.0,2.0,red,rose\n";
    std::fs::write(place.path().join("new.csv"), new).unwrap();
    let (out, err) = tares_in(place.path(), &["predict", "run", "new.csv"]).ends(0);
    assert_eq!(out.lines().count(), 4, "{out}");
    assert!(err.contains("accuracy 100.00 % on 2 rows that have a label"), "{err}");
}
