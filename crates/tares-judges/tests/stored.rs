//! Stored models: whole or refused, never a panic.

mod made;

use tares_core::stream;
use tares_judges::panel::fit;
use tares_judges::stored::{Storable, read, write};
use tares_judges::{
    Bayes, Caller, Forest, Labelled, Linear, LinearOptions, Matrix, Panel, PanelOptions, TextCounts, TextFeatures,
    TextOptions, TreeOptions, Trees,
};

fn small() -> (Matrix, Vec<u32>) {
    made::mixed(80, 3, 1)
}

fn linear() -> Linear {
    let (inputs, labels) = small();
    Linear::fit(&Labelled::new(&inputs, &labels, 3), 1.0, LinearOptions::default(), Caller::none()).unwrap()
}

fn trees(shared: bool) -> Trees {
    let (inputs, labels) = small();
    let options = TreeOptions { rounds: 4, shared, ..TreeOptions::default() };
    Trees::fit(&Labelled::new(&inputs, &labels, 3), options, Caller::none()).unwrap()
}

fn forest() -> Forest {
    let (inputs, labels) = small();
    Forest::fit(&Labelled::new(&inputs, &labels, 3), 8, 1, Caller::none()).unwrap()
}

fn panel() -> Panel {
    let (inputs, labels) = small();
    let mut options = PanelOptions { repeats: Some(1), ..PanelOptions::default() };
    options.trees.rounds = 4;
    fit(&Labelled::new(&inputs, &labels, 3), &options, Caller::none()).unwrap().0
}

fn counts(texts: &[&str]) -> TextCounts {
    TextCounts::of(texts, TextOptions::default()).unwrap()
}

fn bayes() -> Bayes {
    let inputs = Matrix::mixed(Vec::new(), vec![counts(&["the cat sat", "the dog sat", "a cat", "a dog"])]).unwrap();
    Bayes::fit(&Labelled::new(&inputs, &[0, 1, 0, 1], 2), 0.3, Caller::none()).unwrap()
}

fn text() -> TextFeatures {
    TextFeatures::fit(&counts(&["the cat sat", "the dog sat", "a cat"])).unwrap()
}

#[test]
fn models_are_read_as_they_were_written() {
    assert_eq!(read::<Linear>(&write(&linear())).unwrap(), linear());
    assert_eq!(read::<Trees>(&write(&trees(false))).unwrap(), trees(false));
    assert_eq!(read::<Trees>(&write(&trees(true))).unwrap(), trees(true));
    assert_eq!(read::<Forest>(&write(&forest())).unwrap(), forest());
    assert_eq!(read::<Panel>(&write(&panel())).unwrap(), panel());
    assert_eq!(read::<TextFeatures>(&write(&text())).unwrap(), text());
    assert_eq!(read::<Bayes>(&write(&bayes())).unwrap(), bayes());
}

#[test]
fn another_kind_version_or_format_is_said() {
    let say = |bytes: &[u8]| read::<Trees>(bytes).unwrap_err().to_string();
    assert_eq!(say(&write(&text())), "model file: kind must be trees, got text");
    let bytes = String::from_utf8(write(&trees(false))).unwrap();
    assert_eq!(
        say(bytes.replace("\"version\":1", "\"version\":7").as_bytes()),
        "model file: version must be 1, got 7: use the program that wrote it, or a newer one"
    );
    assert_eq!(
        say(bytes.replace("tares-judge", "something").as_bytes()),
        "model file: this is not a model of tares-judges"
    );
    assert!(say(b"\x89PNG").starts_with("model file: expected value"));
}

/// Damages the bytes in every way that tends to hurt, reads them, and asks whatever was read.
fn attack<M: Storable>(model: &M, ask: impl Fn(&M)) {
    let whole = write(model);
    for seed in 0..3000 {
        let mut draw = stream(seed, "damage");
        let mut bytes = whole.clone();
        for _ in 0..=draw.below(3) {
            let place = draw.below(bytes.len());
            match draw.below(5) {
                0 => bytes[place] = draw.below(256) as u8,
                1 => bytes.truncate(place + 1),
                // A digit becomes another one: still JSON, another model.
                2 => {
                    let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
                    if !digits.is_empty() {
                        bytes[digits[draw.below(digits.len())]] = b'0' + draw.below(10) as u8;
                    }
                }
                // A digit becomes a huge number.
                3 => {
                    let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
                    if !digits.is_empty() {
                        let at = digits[draw.below(digits.len())];
                        let huge: &[u8] =
                            [&b"4294967295"[..], b"18446744073709551615", b"1e308", b"-1", b"null"][draw.below(5)];
                        bytes.splice(at..=at, huge.iter().copied());
                    }
                }
                // An entry of a list disappears.
                _ => {
                    if let Some(comma) = (place..bytes.len()).find(|&at| bytes[at] == b',') {
                        let end =
                            (comma + 1..bytes.len()).find(|&at| b",]}".contains(&bytes[at])).unwrap_or(bytes.len());
                        bytes.drain(comma..end);
                    }
                }
            }
        }
        if let Ok(model) = read::<M>(&bytes) {
            ask(&model);
        }
    }
}

#[test]
fn damaged_linear_models_are_refused_or_can_be_asked() {
    attack(&linear(), |model| drop(model.log_probs(&small().0)));
}

#[test]
fn damaged_trees_are_refused_or_can_be_asked() {
    attack(&trees(false), |model| drop(model.log_probs(&small().0)));
    attack(&trees(true), |model| drop(model.log_probs(&small().0)));
}

#[test]
fn damaged_panels_are_refused_or_can_be_asked() {
    attack(&panel(), |model| drop(model.probs(&small().0)));
}

#[test]
fn damaged_text_features_are_refused_or_can_be_asked() {
    attack(&text(), |model| drop(model.transform(&counts(&["the cat"]))));
}

#[test]
fn damaged_naive_bayes_is_refused_or_can_be_asked() {
    let new = Matrix::mixed(Vec::new(), vec![counts(&["the cat"])]).unwrap();
    attack(&bayes(), |model| drop(model.log_probs(&new)));
}
