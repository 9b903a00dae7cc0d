//! The digits data set for training tests: 3,823 pictures of 8×8 to train on, 1,797 by other people to test on.

use flate2::read::GzDecoder;
use std::io::Read;
use tares_core::noise::Noise;
use tares_core::{Dataset, Shape};

const TRAIN: &[u8] = include_bytes!("../../../tares-data/data/optdigits.tra.gz");
const TEST: &[u8] = include_bytes!("../../../tares-data/data/optdigits.tes.gz");

/// Training and test data, all labels right.
pub fn digits() -> (Dataset, Dataset) {
    (parse(TRAIN), parse(TEST))
}

/// The same with noise in the training labels, and the truth known.
pub fn noisy_digits(noise: &str, seed: u64) -> (Dataset, Dataset) {
    let (train, test) = digits();
    if noise == "none" {
        let truth = train.given().to_vec();
        return (train.with_truth(truth).unwrap(), test);
    }
    let noise: Noise = noise.parse().unwrap();
    (noise.corrupt(&train, seed).unwrap().data, test)
}

fn parse(gzipped: &[u8]) -> Dataset {
    let mut text = String::new();
    GzDecoder::new(gzipped).read_to_string(&mut text).unwrap();
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let numbers: Vec<u16> = line.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        pixels.extend(numbers[..64].iter().map(|&level| ((level * 255 + 8) / 16) as u8));
        labels.push(u32::from(numbers[64]));
    }
    let shape = Shape::Image { channels: 1, height: 8, width: 8 };
    Dataset::new(pixels, shape, labels, (0..10).map(|class| class.to_string())).unwrap()
}
