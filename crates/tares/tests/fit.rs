//! What `fit` promises besides learning: refusals, callbacks, resumes, weights, out-of-sample probabilities.

mod digits;

use digits::noisy_digits;
use tares::evaluate::cross_validated_probabilities;
use tares::method::NAMES;
use tares::optimiser::{Adam, Sgd};
use tares::{Augment, Checkpoint, Control, Error, Fit, Method, Network, Normalise, Optimiser, Plan, Schedule};
use tares_core::{Dataset, Shape};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn small() -> (Dataset, Dataset) {
    let (train, test) = noisy_digits("symmetric:0.3", 1);
    let rows: Vec<usize> = (0..400).collect();
    (train.subset(&rows).unwrap(), test.subset(&rows).unwrap())
}

fn plan() -> Plan {
    Plan { epochs: 4, batch: 50, ..Plan::default() }
}

/// Fast enough for these few rows to be learnt.
fn eager(epochs: usize) -> Plan {
    Plan { epochs, optimiser: Optimiser::Adam(Adam { lr: 0.01, ..Adam::default() }), ..plan() }
}

fn mlp() -> Network {
    "mlp:32".parse().unwrap()
}

#[test]
fn every_method_reports_every_epoch_and_every_sample() {
    let (train, test) = small();
    for name in NAMES {
        let method = name.parse::<Method>().unwrap().with_rate(0.3);
        let fitted = Fit::new(&train, &method, &plan()).test(&test).train_network(&mlp()).unwrap();
        assert_eq!(fitted.epochs.len(), 4, "{name}");
        for (number, epoch) in fitted.epochs.iter().enumerate() {
            assert_eq!(epoch.epoch, number);
            assert!(epoch.train_loss.is_finite() && epoch.seconds > 0.0 && epoch.steps > 0, "{name}: {epoch:?}");
            assert!(epoch.test_accuracy.is_some() && epoch.label_recall.is_some(), "{name}: {epoch:?}");
            assert!((0.0..=1.0).contains(&epoch.kept_fraction), "{name}: {epoch:?}");
        }
        // RoG never shows the network the rows it sets aside.
        let seen = fitted.history.times_seen().iter().filter(|&&times| times > 0).count();
        assert!(seen == 400 || (name == "rog" && (350..370).contains(&seen)), "{name}: {seen} rows seen");
        let (times_kept, times_seen) = (fitted.history.times_kept(), fitted.history.times_seen());
        assert!(times_kept.iter().zip(times_seen).all(|(kept, seen)| kept <= seen), "{name}");
        let kept: usize = fitted.epochs.iter().map(|epoch| epoch.kept).sum();
        assert_eq!(times_kept.iter().sum::<u32>() as usize, kept, "{name}");
        let sums: Vec<f32> = fitted.probabilities(&test).unwrap().chunks(10).map(|row| row.iter().sum()).collect();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-4), "{name}");
    }
}

#[test]
fn clean_samples_have_the_larger_margins() {
    let (train, _) = small();
    let fitted = Fit::new(&train, &Method::Standard, &eager(15)).train_network(&mlp()).unwrap();
    let clean = train.clean().unwrap();
    let margins = fitted.history.mean_margins();
    let mean = |wanted: bool| {
        let some: Vec<f64> = (0..400).filter(|&i| clean[i] == wanted).map(|i| margins[i]).collect();
        some.iter().sum::<f64>() / some.len() as f64
    };
    assert!(mean(true) > mean(false) + 2.0, "{} against {}", mean(true), mean(false));
}

#[test]
fn the_callback_can_stop_and_a_resume_goes_on_to_the_same_bits() {
    let (train, test) = small();
    for name in ["npcl:0.3", "co-teaching:0.3", "elr"] {
        let method: Method = name.parse().unwrap();
        let whole = Fit::new(&train, &method, &plan()).test(&test).train_network(&mlp()).unwrap();
        let mut saved = None;
        let part = Fit::new(&train, &method, &plan())
            .test(&test)
            .on_epoch(|progress| {
                saved = Some(progress.checkpoint().unwrap());
                if progress.epoch.epoch == 1 { Control::Stop } else { Control::Continue }
            })
            .train_network(&mlp())
            .unwrap();
        assert_eq!(part.epochs.len(), 2);
        let saved = saved.unwrap();
        assert_eq!(saved.epochs(), 2);
        let bytes = saved.to_bytes();
        let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
        let rest = Fit::new(&train, &method, &plan()).test(&test).resume(checkpoint).train_network(&mlp()).unwrap();
        let timeless = |epochs: &[tares::Epoch]| epochs.iter().map(tares::Epoch::timeless).collect::<Vec<_>>();
        assert_eq!(timeless(&rest.epochs), timeless(&whole.epochs), "{name}");
        assert_eq!(rest.history, whole.history, "{name}");
        assert_eq!(rest.safetensors().unwrap(), whole.safetensors().unwrap(), "{name}");
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused_and_says_why() {
    let (train, _) = small();
    let method: Method = "npcl:0.3".parse().unwrap();
    let mut saved = None;
    Fit::new(&train, &method, &plan())
        .on_epoch(|progress| {
            saved = Some(progress.checkpoint().unwrap());
            Control::Stop
        })
        .train_network(&mlp())
        .unwrap();
    let saved = saved.unwrap();
    let refusal = |train: &Dataset, method: &Method, plan: &Plan, network: &Network| {
        let error = Fit::new(train, method, plan).resume(saved.clone()).train_network(network).unwrap_err();
        assert!(matches!(error, Error::Checkpoint(_)), "{error}");
        error.to_string()
    };
    assert!(refusal(&train, &method, &Plan { seed: 9, ..plan() }, &mlp()).contains("its plan is"));
    assert!(refusal(&train, &method.clone().with_rate(0.2), &plan(), &mlp()).contains("its method is"));
    assert!(refusal(&train, &method, &plan(), &"mlp:33".parse().unwrap()).contains("its network is mlp:32"));
    let mut labels = train.given().to_vec();
    labels[17] = (labels[17] + 1) % 10;
    let other = train.clone().relabel(labels).unwrap();
    assert!(refusal(&other, &method, &plan(), &mlp()).contains("training data"));
}

#[test]
fn a_loss_that_is_no_number_stops_with_epoch_step_and_name() {
    let (train, _) = small();
    let optimiser = Optimiser::Sgd(Sgd { lr: 1e12, momentum: 0.0, weight_decay: 0.0, nesterov: false });
    let plan = Plan { optimiser, schedule: Schedule::Constant, ..plan() };
    for name in ["standard", "npcl:0.3", "co-teaching:0.3", "gce", "elr", "d2l", "jocor:0.3", "mentornet"] {
        let method: Method = name.parse().unwrap();
        match Fit::new(&train, &method, &plan).train_network(&mlp()) {
            Err(Error::Diverged { loss, epoch, step, value }) => {
                assert!(!loss.is_empty() && epoch < 4 && step < 32, "{name}: {loss}, {epoch}, {step}");
                assert!(!value.is_finite() || value.abs() > 1e6, "{name}: {value}");
            }
            // A bounded loss may sit still at the end of the world instead.
            Ok(fitted) => assert!(["gce", "npcl:0.3"].contains(&name) && fitted.epochs.len() == 4, "{name}"),
            Err(other) => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn values_of_people_are_refused_not_panicked_about() {
    let (train, test) = small();
    let standard = Method::Standard;
    let run =
        |plan: &Plan, method: &Method| Fit::new(&train, method, plan).train_network(&mlp()).map(|_| ()).unwrap_err();
    assert!(run(&Plan { epochs: 0, ..plan() }, &standard).to_string().contains("epochs"));
    assert!(run(&plan(), &"npcl".parse().unwrap()).to_string().contains("noise rate"));
    let adam = Optimiser::Adam(Adam { lr: -1.0, ..Adam::default() });
    assert!(run(&Plan { optimiser: adam, ..plan() }, &standard).to_string().contains("learning rate"));
    let wide = Augment { resized_crop: 9, ..Augment::default() };
    assert!(run(&Plan { augment: wide, ..plan() }, &standard).to_string().contains("resized_crop"));
    let flat = Dataset::new(vec![0.5f32; 40], Shape::Flat(4), vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1], ["a", "b"]).unwrap();
    let plan = plan();
    let mixed = Fit::new(&train, &standard, &plan).test(&flat).train_network(&mlp()).map(|_| ()).unwrap_err();
    assert!(mixed.to_string().contains("1×8×8"), "{mixed}");
    let fitted = Fit::new(&train, &standard, &plan).train_network(&mlp()).unwrap();
    assert!(fitted.probabilities(&flat).is_err() && fitted.probabilities(&test).is_ok());
    let without_truth = train.subset(&[0, 1, 2, 3]).unwrap();
    let learnt: Method = "mentornet:trusted=0.1".parse().unwrap();
    let bare =
        Dataset::new(vec![7u8; 4 * 64], train.shape(), without_truth.given().to_vec(), (0..10).map(|c| c.to_string()))
            .unwrap();
    let error = Fit::new(&bare, &learnt, &plan).train_network(&mlp()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("truth"), "{error}");
}

#[test]
fn weights_travel_as_safetensors() {
    let (train, test) = small();
    let fitted = Fit::new(&train, &Method::Standard, &plan()).train_network(&mlp()).unwrap();
    let bytes = fitted.safetensors().unwrap();
    let device = burn::tensor::Device::flex();
    let fresh = mlp().init(fitted.transform.shape(), 10, 99, &device).unwrap();
    let loaded = tares::safetensors::from_safetensors(fresh, &bytes).unwrap();
    let again = tares::evaluate::probabilities(&loaded, &fitted.transform, &test, &device).unwrap();
    assert_eq!(again, fitted.probabilities(&test).unwrap());
    let other = "mlp:31".parse::<Network>().unwrap().init(fitted.transform.shape(), 10, 99, &device).unwrap();
    assert!(matches!(tares::safetensors::from_safetensors(other, &bytes), Err(Error::Weights(_))));
    assert!(tares::safetensors::from_safetensors(loaded, &bytes[..40]).is_err());
}

#[test]
fn out_of_sample_probabilities_doubt_wrong_labels() {
    let (train, _) = small();
    let plan = Plan { normalise: Normalise::Standardise, ..eager(12) };
    let mut heard = [0; 4];
    let device = burn::tensor::Device::flex();
    let probabilities =
        cross_validated_probabilities(&train, 4, &mlp(), &Method::Standard, &plan, &device, &mut |fold, _| {
            heard[fold] += 1;
            Control::Continue
        })
        .unwrap();
    assert_eq!((probabilities.len(), heard), (4000, [12; 4]));
    let clean = train.clean().unwrap();
    let of_given = |wanted: bool| {
        let some: Vec<f64> = (0..400)
            .filter(|&i| clean[i] == wanted)
            .map(|i| f64::from(probabilities[10 * i + train.given()[i] as usize]))
            .collect();
        some.iter().sum::<f64>() / some.len() as f64
    };
    // A network that had seen the labels would give both about the same.
    assert!(of_given(true) > 0.5 && of_given(false) < 0.2, "{} and {}", of_given(true), of_given(false));
    assert!(
        cross_validated_probabilities(&train, 1, &mlp(), &Method::Standard, &plan, &device, &mut |_, _| {
            Control::Continue
        })
        .is_err()
    );
}

#[test]
fn the_quirks_of_the_original_change_the_run() {
    let (train, test) = small();
    let quirky = Plan { quirks: true, batch: 64, ..plan() };
    let fitted = Fit::new(&train, &Method::Standard, &quirky).test(&test).train_network(&mlp()).unwrap();
    // 400 rows are six whole batches of 64; test accuracy counts 384 rows.
    assert!(fitted.epochs.iter().all(|epoch| epoch.steps == 6));
    let accuracy = fitted.epochs[3].test_accuracy.unwrap() * 384.0;
    assert!((accuracy - accuracy.round()).abs() < 1e-9);
}

#[test]
fn the_bound_lies_between_the_error_and_the_plain_loss_in_every_epoch() {
    let (train, _) = small();
    for (name, tight) in [("cl:burn-in=1", true), ("cl:c=e,burn-in=0", false)] {
        let method: Method = name.parse().unwrap();
        let fitted = Fit::new(&train, &method, &plan()).train_network(&mlp()).unwrap();
        for epoch in &fitted.epochs {
            let (bound, plain) = (epoch.bound.unwrap(), epoch.plain_bound.unwrap());
            let wrong = 1.0 - epoch.train_accuracy;
            // Q bounds the 0-1 loss, twice E does.
            assert!(wrong <= bound * if tight { 1.0 } else { 2.0 } + 1e-9, "{name}: {epoch:?}");
            assert!(bound <= plain + 1e-9, "{name}: {epoch:?}");
        }
    }
    let gce = Fit::new(&train, &"gce".parse().unwrap(), &plan()).train_network(&mlp()).unwrap();
    assert!(gce.epochs.iter().all(|epoch| epoch.bound.is_none()));
}

#[test]
fn rog_as_published_answers_by_the_late_layers_and_is_repeatable() {
    let (train, test) = small();
    let method: Method = "rog:published".parse().unwrap();
    let fit = || Fit::new(&train, &method, &plan()).train_network(&mlp()).unwrap();
    let fitted = fit();
    let head = fitted.head.as_ref().unwrap();
    assert!((head.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(fitted.accuracy(&test).unwrap() > 0.5, "{}", fitted.accuracy(&test).unwrap());
    assert_eq!(fitted.probabilities(&test).unwrap(), fit().probabilities(&test).unwrap());
    // A quarter of each small class is set aside.
    let seen = fitted.history.times_seen().iter().filter(|&&times| times > 0).count();
    assert!((295..=310).contains(&seen), "{seen}");
    let mixed: Method = "rog:published,keep=0.5".parse().unwrap();
    assert!(mixed.check().unwrap_err().to_string().contains("without other parameters than on"));
}

#[test]
fn another_loss_may_be_trained_in_the_burn_in() {
    let (train, _) = small();
    let run = |name: &str| {
        let plan = Plan { epochs: 2, ..plan() };
        let method = name.parse::<Method>().unwrap().with_rate(0.3);
        Fit::new(&train, &method, &plan).train_network(&mlp()).unwrap()
    };
    // While the burn-in lasts, the loss that follows does not matter.
    let soft = run("npcl:burn-in=2").safetensors().unwrap();
    assert!(soft == run("npcl:burn-in=2,train=hinge,burn-in-train=soft-hinge").safetensors().unwrap());
    assert!(soft != run("npcl:burn-in=2,train=hinge").safetensors().unwrap());
    // After it, it does.
    let hard = run("npcl:burn-in=1,train=hinge,burn-in-train=soft-hinge").safetensors().unwrap();
    assert!(hard != run("npcl:burn-in=1").safetensors().unwrap());
}
