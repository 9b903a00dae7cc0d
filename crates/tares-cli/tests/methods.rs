//! Methods with parameters, as people type them: `tares methods`, and variants of one method in a comparison.

mod program;

use program::{tares, tares_in};
use std::path::Path;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn manifest(run: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(run.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn variants_of_one_method_stand_side_by_side() {
    let place = tempfile::tempdir().unwrap();
    let line = "compare --data digits --noise symmetric:0.5 --epochs 1 --out table --methods \
                gce:q=0.1,gce:q=0.7,rog,rog:npcl,npcl:burn-in=0,train=hinge,npcl:burn-in=0,npcl:rate=x0.5";
    let (out, _) = tares_in(place.path(), &words(line)).ends(0);
    let names =
        ["gce:q=0.1", "gce", "rog", "rog:on=npcl", "npcl:burn-in=0,train=hinge", "npcl:burn-in=0", "npcl:rate=x0.5"];
    let summary = std::fs::read_to_string(place.path().join("table/summary.csv")).unwrap();
    assert_eq!(summary.lines().count(), 1 + names.len(), "{summary}");
    for name in names {
        let line = out.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("no line for {name}:\n{out}"));
        assert!(!line.contains('±'), "a single run has no deviation: {line}");
        let run = place.path().join("table/runs/symmetric-0.5").join(name.replace(':', "-")).join("seed-1");
        assert_eq!(manifest(&run)["method"], name);
    }
    let rate =
        |name: &str| manifest(&place.path().join("table/runs/symmetric-0.5").join(name).join("seed-1"))["rate"].clone();
    assert_eq!(rate("npcl-burn-in=0")["value"], 0.5);
    assert_eq!(rate("npcl-rate=x0.5")["value"], 0.25, "a factor is applied to the known rate");
}

#[test]
fn mentornet_is_told_the_rate_where_it_is_known() {
    let place = tempfile::tempdir().unwrap();
    let line = "compare --data digits --noise symmetric:0.5 --epochs 1 --methods mentornet --out table";
    tares_in(place.path(), &words(line)).success();
    let run = place.path().join("table/runs/symmetric-0.5/mentornet/seed-1");
    assert_eq!(manifest(&run)["rate"]["value"], 0.5);
    // Nothing is estimated for a method that can do without.
    tares_in(place.path(), &words("train digits --method mentornet --epochs 1 --out run")).success();
    assert!(manifest(&place.path().join("run"))["rate"].is_null());
}

#[test]
fn a_run_with_a_factor_goes_on_with_the_rate_it_had() {
    let place = tempfile::tempdir().unwrap();
    let line = "train digits --noise symmetric:0.4 --noise-rate known --method npcl:rate=x0.5 --epochs 2 --out run";
    tares_in(place.path(), &words(line)).success();
    assert_eq!(manifest(&place.path().join("run"))["rate"]["value"], 0.2);
    let model = std::fs::read_to_string(place.path().join("run/model.json")).unwrap();
    let model: serde_json::Value = serde_json::from_str(&model).unwrap();
    assert_eq!(model["method"]["npcl"]["rate"], 0.2, "the model knows the rate it was trained with");
    tares_in(place.path(), &words("train --spec run/spec.toml --out again")).success();
    let read = |run: &str| std::fs::read(place.path().join(run).join("model.safetensors")).unwrap();
    assert!(read("run") == read("again"), "the spec repeats the run");
}

#[test]
fn methods_are_listed_with_every_parameter_and_its_default() {
    let out = tares(&["methods"]).success();
    for text in ["npcl", "burn-in", "the T+1 rule", "soft-hinge"] {
        assert!(out.contains(text), "{text} is not in\n{out}");
    }
    let json: serde_json::Value = serde_json::from_str(&tares(&["methods", "gce", "--json"]).success()).unwrap();
    assert_eq!(json[0]["parameters"][0]["key"], "q");
    assert_eq!(json[0]["parameters"][0]["default"], "0.7");
    let error = tares(&["methods", "ncpl"]).fails(2);
    assert!(error.contains("did you mean npcl?"), "{error}");
}
