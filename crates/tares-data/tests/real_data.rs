//! The data sets people know, when `TARES_DATA` points to a folder that has them. Expected values are the published ones.

use std::path::PathBuf;
use tares_core::{Dataset, Row, Shape};
use tares_data::{HumanLabels, LoadOptions, Loaded, load, npy};

/// The folder with real data, or `None` after saying that the test is skipped.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("TARES_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: TARES_DATA is not set");
    }
    folder
}

fn named(name: &str, options: LoadOptions) -> Option<Loaded> {
    let data = data()?;
    let options = options.with(|options| options.data_dir = Some(data));
    Some(load(name, &options, &mut |_| {}).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Mean and standard deviation of every channel, of values divided by 255.
fn channels(data: &Dataset) -> Vec<(f64, f64)> {
    let Shape::Image { channels, height, width } = data.shape() else { panic!("pictures") };
    let plane = height * width;
    let mut sums = vec![(0u64, 0u64); channels];
    for index in 0..data.len() {
        let Row::Bytes(pixels) = data.row(index) else { panic!("bytes") };
        for (channel, (sum, squares)) in sums.iter_mut().enumerate() {
            for &pixel in &pixels[channel * plane..(channel + 1) * plane] {
                *sum += u64::from(pixel);
                *squares += u64::from(pixel).pow(2);
            }
        }
    }
    let count = (data.len() * plane) as f64;
    let moments = |(sum, squares): (u64, u64)| {
        let mean = sum as f64 / count;
        (mean / 255.0, (squares as f64 / count - mean * mean).sqrt() / 255.0)
    };
    sums.into_iter().map(moments).collect()
}

fn assert_channels(data: &Dataset, expected: &[(f64, f64)]) {
    let found = channels(data);
    for ((mean, std), (expected_mean, expected_std)) in found.iter().zip(expected) {
        assert!((mean - expected_mean).abs() < 6e-5 && (std - expected_std).abs() < 6e-5, "{found:?}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn mnist_is_the_published_one() {
    let Some(Loaded { train, test, .. }) = named("mnist", LoadOptions::default()) else { return };
    let test = test.unwrap();
    assert_eq!(train.class_counts(), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    assert_eq!(test.class_counts(), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    assert_channels(&train, &[(0.1307, 0.3081)]);
}

#[test]
fn fashion_mnist_is_the_published_one() {
    if data().is_none() {
        return;
    }
    let options = LoadOptions::default().with(|options| options.data_dir = data());
    match load("fashion-mnist", &options, &mut |_| {}) {
        Ok(Loaded { train, test, .. }) => {
            assert_eq!(train.class_counts(), [6000; 10]);
            assert_eq!(test.unwrap().class_counts(), [1000; 10]);
            assert_eq!(train.class_names()[9], "Ankle boot");
            assert_channels(&train, &[(0.2860, 0.3530)]);
        }
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn cifar_10_is_the_published_one_and_stays_bytes() {
    let Some(Loaded { train, test, .. }) = named("cifar-10", LoadOptions::default()) else { return };
    assert!(train.is_bytes());
    assert_eq!(train.class_counts(), [5000; 10]);
    assert_eq!(test.unwrap().class_counts(), [1000; 10]);
    assert_eq!(train.class_names()[6], "frog");
    assert_eq!(train.given()[..4], [6, 9, 9, 4]);
    assert_channels(&train, &[(0.49140, 0.24703), (0.48216, 0.24349), (0.44653, 0.26159)]);
}

#[test]
fn cifar_10n_has_the_published_noise_in_csv_and_in_the_authors_file() {
    let Some(folder) = data() else { return };
    let cases = [
        (HumanLabels::Aggregate, 0.0901),
        (HumanLabels::Random1, 0.1723),
        (HumanLabels::Random2, 0.1812),
        (HumanLabels::Random3, 0.1764),
        (HumanLabels::Worst, 0.4021),
    ];
    let csv = tares_data::read_human_labels(tares_data::Input::open(folder.join("cifar-n/cifar-10n.csv.gz")).unwrap());
    let pt =
        tares_data::read_human_labels(tares_data::Input::open(folder.join("cifar-n/CIFAR-10_human.pt.gz")).unwrap());
    let (mut csv, pt) = (csv.unwrap(), pt.unwrap());
    csv.remove("index");
    assert_eq!(csv.len(), 6);
    assert_eq!(csv, pt);
    for (which, rate) in cases {
        let loaded =
            named("cifar-10", LoadOptions::default().with(|options| options.human_labels = Some(which))).unwrap();
        let found = loaded.train.noise_rate().unwrap();
        assert!((found - rate).abs() < 5.1e-5, "{which}: {found}");
    }
    let refused = LoadOptions::default().with(|options| {
        options.data_dir = Some(folder);
        options.human_labels = Some(HumanLabels::Noisy);
    });
    let error = load("cifar-10", &refused, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("human labels must be aggregate, random1"), "{error}");
}

#[test]
fn cifar_100n_has_the_published_noise() {
    let Some(folder) = data() else { return };
    for file in ["cifar-n/cifar-100n.csv.gz", "cifar-n/CIFAR-100_human.pt.gz"] {
        let columns = tares_data::read_human_labels(tares_data::Input::open(folder.join(file)).unwrap()).unwrap();
        let (clean, noisy) = (&columns["clean_label"], &columns["noisy_label"]);
        let wrong = clean.iter().zip(noisy).filter(|(a, b)| a != b).count();
        assert!((wrong as f64 / clean.len() as f64 - 0.4020).abs() < 5.1e-5, "{file}: {wrong}");
    }
    // The pictures here are a subset in another order: that must be noticed, not silently mislabelled.
    let options = LoadOptions::default().with(|options| {
        options.data_dir = Some(folder);
        options.human_labels = Some(HumanLabels::Noisy);
    });
    assert!(load("cifar-100", &options, &mut |_| {}).is_err());
}

#[test]
fn cifar_100_subset_has_fine_and_coarse_labels() {
    let whole = LoadOptions::default().with(|options| options.test_fraction = 0.0);
    let Some(fine) = named("cifar-100", whole.clone()) else { return };
    let coarse = named("cifar-100", whole.with(|options| options.coarse = true)).unwrap();
    assert_eq!(fine.train.class_counts(), [10; 100]);
    assert_eq!(coarse.train.class_counts(), [50; 20]);
    assert_eq!(fine.train.class_names()[0], "apple");
    assert_eq!(coarse.train.class_names()[4], "fruit_and_vegetables");
    let apple = fine.train.given().iter().position(|&label| label == 0).unwrap();
    assert_eq!(coarse.train.given()[apple], 4);
    let split = named("cifar-100", LoadOptions::default()).unwrap();
    assert_eq!(split.train.class_counts(), [8; 100]);
    assert_eq!(split.test.unwrap().class_counts(), [2; 100]);
}

#[test]
fn tiny_imagenet_subset_is_read_from_its_archive() {
    let mut decoded = 0;
    let Some(folder) = data() else { return };
    let options = LoadOptions::default().with(|options| options.data_dir = Some(folder));
    let loaded = load("tiny-imagenet", &options, &mut |progress| decoded = progress.done).unwrap();
    assert_eq!(loaded.train.class_counts(), [5; 200]);
    assert_eq!(loaded.test.unwrap().class_counts(), [1; 200]);
    assert_eq!(loaded.train.shape(), Shape::Image { channels: 3, height: 64, width: 64 });
    assert_eq!(decoded, 1200);
    assert_eq!(loaded.train.class_names()[0], "Egyptian cat");
    assert!(loaded.train.id(0).starts_with("train/n"));
}

#[test]
fn the_digits_file_is_the_embedded_one() {
    let Some(folder) = data() else { return };
    let path = folder.join("optdigits/optdigits.tra.gz");
    let options = LoadOptions::default().with(|options| {
        options.test_fraction = 0.0;
        options.standardise = false;
    });
    let csv = load(path.to_str().unwrap(), &options, &mut |_| {}).unwrap();
    let embedded = load("digits", &LoadOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(csv.train.given(), embedded.train.given());
    assert_eq!(csv.train.class_names(), embedded.train.class_names());
    for index in 0..csv.train.len() {
        let (Row::Floats(levels), Row::Bytes(bytes)) = (csv.train.row(index), embedded.train.row(index)) else {
            panic!("floats and bytes")
        };
        assert!(levels.iter().zip(bytes).all(|(&level, &byte)| tares_data::digits::to_level(byte) == level as u8));
    }
}

#[test]
fn probability_and_count_arrays_are_read() {
    let Some(folder) = data() else { return };
    let counts = npy::Stored::open(folder.join("cifar-10h/cifar10h-counts.npy.gz")).unwrap();
    assert_eq!((counts.rows(), counts.columns()), (10_000, 10));
    let mut rows = vec![0f64; 100_000];
    counts.read_rows(0, &mut rows).unwrap();
    let sums: Vec<f64> = rows.chunks(10).map(|row| row.iter().sum()).collect();
    let (least, most) = sums.iter().fold((f64::MAX, 0f64), |(least, most), &sum| (least.min(sum), most.max(sum)));
    assert_eq!((least, most), (47.0, 63.0));
    let test = named("cifar-10", LoadOptions::default()).unwrap().test.unwrap();
    assert_eq!(agreement(&rows, test.given()), 9921);
    for (file, name, right) in [("mnist", "mnist", 9913), ("cifar10", "cifar-10", 9294)] {
        let path = folder.join(format!("label-errors/{file}_test_set_pyx.npy.gz"));
        let array = npy::Stored::open(path).unwrap();
        array.read_rows(0, &mut rows).unwrap();
        assert!(rows.chunks(10).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-4));
        let test = named(name, LoadOptions::default()).unwrap().test.unwrap();
        assert_eq!(agreement(&rows, test.given()), right, "{name}");
    }
}

/// Rows whose largest entry is at the label.
fn agreement(rows: &[f64], labels: &[u32]) -> usize {
    let argmax = |row: &[f64]| (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a))).unwrap();
    rows.chunks(10).zip(labels).filter(|(row, label)| argmax(row) == **label as usize).count()
}
