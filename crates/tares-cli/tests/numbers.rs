//! Every number that goes to disk comes back to the last bit: otherwise a checkpoint would belong to "another run".

use tares::method::RogHead;
use tares::{Augment, Normalise};
use tares_cli::record::{EpochRecord, Manifest, RateRecord};
use tares_cli::run::spec::Spec;
use tares_cli::run::spec_file::{parse, to_toml};
use tares_core::{Dataset, Shape, Stream, stream};

const TIMES: usize = 5000;

/// A number in [0, 1) with all of its 53 bits.
fn fraction(draw: &mut Stream) -> f64 {
    draw.bits() as f64 / 2f64.powi(64)
}

/// Any finite number, of any size.
fn any(draw: &mut Stream) -> f64 {
    loop {
        let value = f64::from_bits(draw.bits());
        if value.is_finite() {
            return value;
        }
    }
}

#[test]
fn json_keeps_every_bit_of_a_number() {
    let mut draw = stream(1, "numbers");
    for turn in 0..TIMES {
        let value = if turn % 2 == 0 { fraction(&mut draw) } else { any(&mut draw) };
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), value.to_bits(), "{text}");
        let narrow = f32::from_bits(draw.bits() as u32);
        if narrow.is_finite() {
            let text = serde_json::to_string(&narrow).unwrap();
            assert_eq!(serde_json::from_str::<f32>(&text).unwrap().to_bits(), narrow.to_bits(), "{text}");
        }
    }
}

#[test]
fn a_manifest_and_its_epochs_keep_every_bit() {
    let mut draw = stream(2, "numbers");
    let text = r#"{"format":1,"version":"0.1.0","state":"unfinished","method":"npcl","network":"mlp","parameters":1,"seed":1,
        "epochs":1,"data":{"source":"d","hash":"0","train_rows":1,"test_rows":1,"classes":["a","b"],"shape":[1]},
        "machine":{"system":"s","cores":1,"device":"cpu"},"started":"now"}"#;
    let empty: Manifest = serde_json::from_str(text).unwrap();
    for _ in 0..TIMES {
        let mut part = || fraction(&mut draw);
        let rate =
            RateRecord { value: part(), source: "estimated".into(), interval: Some((part(), part())), warning: None };
        let manifest = Manifest { rate: Some(rate), ..empty.clone() };
        let bytes = tares_cli::json::to_json(&manifest).unwrap();
        assert_eq!(serde_json::from_slice::<Manifest>(&bytes).unwrap(), manifest);
        let epoch = EpochRecord {
            epoch: 1,
            train_loss: 9.0 * part(),
            train_accuracy: Some(part()),
            test_accuracy: Some(part()),
            kept: 7,
            kept_fraction: part(),
            label_precision: Some(part()),
            label_recall: Some(part()),
            learning_rate: part() / 100.0,
            steps: 30,
            starved_steps: 2,
            bound: Some(2.0 * part()),
            plain_bound: Some(3.0 * part()),
            estimated_rate: Some(part()),
            seconds: 1e3 * part(),
        };
        let line = epoch.line().unwrap();
        assert_eq!(serde_json::from_slice::<EpochRecord>(&line).unwrap(), epoch);
    }
}

#[test]
fn a_spec_keeps_every_bit() {
    let mut draw = stream(3, "numbers");
    let mut spec: Spec = parse("version = 1\ndata = \"digits\"\n").unwrap();
    for _ in 0..TIMES / 10 {
        spec.noise_rate = fraction(&mut draw).to_string().parse().unwrap();
        spec.noise = format!("symmetric:{}", fraction(&mut draw)).parse().unwrap();
        spec.load.test_fraction = Some(fraction(&mut draw));
        spec.plan.optimiser =
            serde_json::from_str(&format!("{{\"adam\":{{\"lr\":{}}}}}", fraction(&mut draw))).unwrap();
        assert_eq!(parse::<Spec>(&to_toml(&spec).unwrap()).unwrap(), spec);
    }
}

#[test]
fn a_model_keeps_every_bit() {
    let mut draw = stream(4, "numbers");
    for _ in 0..TIMES / 50 {
        let rows: Vec<f32> = (0..60).map(|_| fraction(&mut draw) as f32).collect();
        let data = Dataset::new(rows, Shape::Flat(3), (0..20).map(|i| i % 2).collect(), ["a", "b"]).unwrap();
        let inputs = tares::InputTransform::new(&data, &Augment::default(), &Normalise::Standardise).unwrap();
        let text = serde_json::to_string(&inputs).unwrap();
        assert_eq!(serde_json::from_str::<tares::InputTransform>(&text).unwrap(), inputs);
        let numbers: Vec<String> = (0..6).map(|_| any(&mut draw).to_string()).collect();
        let head = format!(
            r#"{{"layers":[{{"directions":[{}],"offsets":[{},{}]}}],"weights":[1.0],"classes":2}}"#,
            numbers[..4].join(","),
            numbers[4],
            numbers[5]
        );
        let head: RogHead = serde_json::from_str(&head).unwrap();
        assert_eq!(serde_json::from_str::<RogHead>(&serde_json::to_string(&head).unwrap()).unwrap(), head);
    }
}
