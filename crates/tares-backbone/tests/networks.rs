//! Networks that other programs wrote: what they give, and what is said of those that cannot be used.

use std::path::{Path, PathBuf};
use tares_backbone::{BackboneOptions, FeatureLayer, OnnxNetwork, PictureNetwork};
use tares_data::Picture;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// The picture of compare/make_tiny_networks.py, as a PPM file.
fn picture() -> Picture {
    let mut bytes = b"P6 8 8 255\n".to_vec();
    for row in 0..8usize {
        for column in 0..8 {
            bytes.extend((0..3).map(|channel| ((row * 31 + column * 7 + channel * 53) % 256) as u8));
        }
    }
    Picture::decode(&bytes).unwrap()
}

fn features(network: &OnnxNetwork) -> Vec<f32> {
    let mut out = vec![0.0; network.width()];
    network.features(&picture(), &mut out).unwrap();
    out
}

fn open(name: &str) -> OnnxNetwork {
    OnnxNetwork::open(&file(name), &BackboneOptions::default()).unwrap()
}

fn refused(name: &str) -> String {
    OnnxNetwork::open(&file(name), &BackboneOptions::default()).unwrap_err().to_string()
}

/// What onnxruntime computed.
fn expected(name: &str) -> Vec<f32> {
    std::fs::read_to_string(file(name)).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

fn assert_near(got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len());
    let scale = wanted.iter().fold(0f32, |most, value| most.max(value.abs()));
    for (got, wanted) in got.iter().zip(wanted) {
        assert!((got - wanted).abs() <= 2e-6 * scale, "{got} is not {wanted}");
    }
}

#[test]
fn the_features_of_a_classifier_are_what_its_last_dense_layer_reads() {
    let network = open("classifier.onnx");
    assert_eq!((network.layer(), network.width()), (&FeatureLayer::Penultimate, 8));
    assert_near(&features(&network), &expected("classifier.features.txt"));
    let notes = network.notes().join("\n");
    for part in
        ["classifier.onnx sees the middle of every picture at 8x8", "ImageNet's mean", "8 inputs of its last dense"]
    {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn the_features_of_a_network_without_a_dense_layer_at_its_end_are_its_output() {
    let network = open("attention.onnx");
    assert_eq!((network.layer(), network.width()), (&FeatureLayer::Output, 5));
    assert_near(&features(&network), &expected("attention.features.txt"));
}

#[test]
fn weights_in_a_file_of_their_own_give_the_same_features() {
    assert_eq!(features(&open("external.onnx")), features(&open("classifier.onnx")));
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(file("external.onnx"), folder.path().join("alone.onnx")).unwrap();
    let said =
        OnnxNetwork::open(&folder.path().join("alone.onnx"), &BackboneOptions::default()).unwrap_err().to_string();
    assert!(said.contains("external.onnx.data"), "{said}");
}

#[test]
fn old_files_channels_last_and_a_mean_of_their_own_are_read() {
    let network = open("old-opset.onnx");
    assert_eq!((network.width(), network.layer()), (4, &FeatureLayer::Penultimate));
    let notes = network.notes().join("\n");
    assert!(notes.contains("224x224, since it takes any size") && notes.contains("as its file says"), "{notes}");
    let small = BackboneOptions { size: Some((8, 8)), ..BackboneOptions::default() };
    let small = OnnxNetwork::open(&file("old-opset.onnx"), &small).unwrap();
    assert_ne!(small.name(), network.name(), "another size, other features");
    // np.einsum over the padded picture, normalised with 0.5 and 0.25: see the file's nodes.
    let given = BackboneOptions { mean: Some([0.5; 3]), std: Some([0.25; 3]), size: Some((8, 8)), layer: None };
    assert_eq!(features(&OnnxNetwork::open(&file("old-opset.onnx"), &given).unwrap()), features(&small));
}

#[test]
fn any_value_can_be_asked_for_and_maps_are_averaged() {
    let asked = |layer: &str| BackboneOptions { layer: Some(layer.into()), ..BackboneOptions::default() };
    let network = OnnxNetwork::open(&file("classifier.onnx"), &asked("x3")).unwrap();
    assert_near(&features(&network), &expected("classifier.features.txt"));
    let logits = OnnxNetwork::open(&file("classifier.onnx"), &asked("logits")).unwrap();
    assert_eq!(logits.width(), 3);
    let said = OnnxNetwork::open(&file("classifier.onnx"), &asked("nothing")).unwrap_err().to_string();
    assert!(said.contains("no value named \"nothing\"; its output is \"probabilities\""), "{said}");
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let cases = [
        ("two-inputs.onnx", "has 2 inputs (pixels, mask); a network for pictures has one"),
        ("text.onnx", "its input \"input_ids\" holds whole numbers: it is a network for text, not for pictures"),
        ("five-channels.onnx", "its input has 5 channels; pictures have 3 (colour) or 1 (grey)"),
        ("many-at-once.onnx", "takes 16 pictures at once; export it for one, or for a batch of any size"),
        (
            "rows.onnx",
            "its input \"input\" has 2 sizes; a network for pictures reads batch x channels x height x width",
        ),
        ("unknown-operator.onnx", "uses operators that are not run here: GridSample"),
        ("too-small.onnx", "the picture is too small"),
        ("classifier.features.txt", "is not an ONNX file, or is cut off"),
        ("nowhere.onnx", "cannot open"),
    ];
    for (name, wanted) in cases {
        let said = refused(name);
        assert!(said.contains(name) && said.contains(wanted), "{name}: {said}");
    }
    let size = BackboneOptions { size: Some((9, 9)), ..BackboneOptions::default() };
    let said = OnnxNetwork::open(&file("classifier.onnx"), &size).unwrap_err().to_string();
    assert!(said.contains("takes pictures of 8x8 only, 9x9 was asked for"), "{said}");
    let flat = BackboneOptions { std: Some([0.2, 0.0, 0.2]), ..BackboneOptions::default() };
    let said = OnnxNetwork::open(&file("classifier.onnx"), &flat).unwrap_err().to_string();
    assert!(said.contains("backbone deviation must be finite and above 0, got 0"), "{said}");
}

#[test]
fn a_file_cut_anywhere_or_with_any_byte_changed_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.onnx");
    for name in ["classifier.onnx", "attention.onnx"] {
        let whole = std::fs::read(file(name)).unwrap();
        for end in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(OnnxNetwork::open(&path, &BackboneOptions::default()).is_err(), "{name} cut at {end}");
        }
        for at in (0..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(network) = OnnxNetwork::open(&path, &BackboneOptions::default()) {
                let mut out = vec![0.0; network.width()];
                let _ = network.features(&picture(), &mut out);
            }
        }
    }
}
