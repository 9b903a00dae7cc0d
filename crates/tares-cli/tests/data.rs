//! `tares data`: list and inspect.

mod program;

use program::{flowers, tares, tares_in};

#[test]
fn the_list_names_every_built_in_set() {
    let out = tares(&["data", "list"]).success();
    for name in ["digits", "mnist", "fashion-mnist", "cifar-10", "cifar-100", "tiny-imagenet"] {
        assert!(out.contains(name), "{name}");
    }
    let sets = tares(&["data", "list", "--json"]).json();
    assert_eq!(sets[0]["place"], "inside the program");
}

#[test]
fn inspect_says_what_was_found() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 90, ["iris", "rose", "tulip"]);
    let out = tares_in(place.path(), &["data", "inspect", "flowers.csv", "--label", "species"]).success();
    for part in ["CSV", "72 to train on, 18 to test on", "iris", "colour", "text, 2 levels"] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    let digits = tares(&["data", "inspect", "digits", "--json"]).json();
    assert_eq!((digits["train_rows"].as_u64(), digits["test_rows"].as_u64()), (Some(3823), Some(1797)));
}

#[test]
fn digits_need_no_download() {
    assert!(tares(&["data", "fetch", "digits"]).success().contains("inside the program"));
    let error = tares(&["data", "fetch", "mnst"]).fails(2);
    assert!(error.contains("did you mean mnist?"), "{error}");
}
