//! `tares demo`: the README's first command.

mod program;

use program::tares_in;
use std::time::Instant;

#[test]
fn it_compares_draws_and_reports() {
    let place = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let (out, _) = tares_in(place.path(), &["demo"]).ends(0);
    let seconds = begun.elapsed().as_secs_f64();
    println!("the demo took {seconds:.1} s");
    for part in ["standard", "gce", "co-teaching", "npcl", "most suspicious digits", "given ", "tares-demo/report.html"]
    {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    assert!(out.lines().filter(|line| line.contains('█') || line.contains('▓')).count() >= 14, "{out}");
    let page = std::fs::read_to_string(place.path().join("tares-demo/report.html")).unwrap();
    assert!(page.contains("Digits with wrong labels: symmetric:0.5") && page.contains("class=\"gallery\""));
    // The law of the paper, with room: NPCL beats standard training by five points.
    let accuracy = |method: &str| -> f64 {
        let row = out.lines().find(|line| line.trim_start().starts_with(method)).unwrap();
        row.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(accuracy("npcl") > accuracy("standard") + 5.0, "{out}");
}
