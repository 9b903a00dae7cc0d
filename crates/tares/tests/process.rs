//! Runs as processes of their own: the same bits on one thread and on two, and after being killed at any moment.

mod digits;

use burn::module::Module;
use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, Linear};
use burn::tensor::{Tensor, activation::relu};
use digits::noisy_digits;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tares::network::{ChannelDropout, Weights};
use tares::safetensors::to_safetensors;
use tares::{Checkpoint, Classifier, Control, Fit, Fitted, Method, Plan};
use tares_core::stream;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A user's own module with everything that could go wrong in a resume: running statistics and dropout.
#[derive(Module, Debug)]
struct Own {
    conv: Conv2d,
    norm: BatchNorm,
    dropout: ChannelDropout,
    hidden: Linear,
    output: Linear,
}

impl Own {
    fn new(weights: &mut Weights) -> Self {
        Self {
            conv: weights.conv([1, 8], 3, 2, 1, false),
            norm: weights.norm(8),
            dropout: ChannelDropout::new(0.25),
            hidden: weights.linear(8 * 16, 32),
            output: weights.linear(32, 10),
        }
    }
}

impl Classifier for Own {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        self.features(input).1
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let maps = self.dropout.forward(relu(self.norm.forward(self.conv.forward(input)))); // [m, 8, 4, 4]
        let hidden = relu(self.hidden.forward(maps.flatten(1, 3))); // [m, 32]
        (vec![hidden.clone()], self.output.forward(hidden))
    }
}

const METHODS: [&str; 11] = [
    "npcl:0.4",
    "co-teaching:0.4",
    "elr",
    "tares",
    "tares:hidden=0",
    "d2l",
    "truncated-gce",
    "mentornet:trusted=0.2,burn-in=2",
    "co-teaching-plus:0.4",
    "jocor:0.4",
    "rog",
];
const EPOCHS: usize = 12;

fn method(text: &str) -> Method {
    text.parse().unwrap()
}

/// What the child process does: continue from the checkpoint in its folder if there is one, write one after every
/// epoch, and the result at the end.
#[test]
fn child() {
    let Ok(folder) = std::env::var("TARES_TEST_FOLDER") else { return };
    let folder = Path::new(&folder);
    let method = method(&std::env::var("TARES_TEST_METHOD").unwrap());
    let (train, test) = noisy_digits("symmetric:0.4", 1);
    let train = train.subset(&(0..1024).collect::<Vec<_>>()).unwrap();
    let test = test.subset(&(0..300).collect::<Vec<_>>()).unwrap();
    let augment = tares::Augment { pad_crop: 1, ..Default::default() };
    let plan = Plan { epochs: EPOCHS, batch: 64, seed: 5, augment, ..Plan::default() };
    let mut fit = Fit::new(&train, &method, &plan).test(&test).on_epoch(|progress| {
        let bytes = progress.checkpoint().unwrap().to_bytes();
        std::fs::write(folder.join("checkpoint.tmp"), bytes).unwrap();
        std::fs::rename(folder.join("checkpoint.tmp"), folder.join("checkpoint")).unwrap();
        Control::Continue
    });
    if let Ok(bytes) = std::fs::read(folder.join("checkpoint")) {
        fit = fit.resume(Checkpoint::from_bytes(&bytes).unwrap());
    }
    let result = match std::env::var("TARES_TEST_NETWORK").as_deref() {
        Ok("own") => result(&fit.train_module(|weights, _| Own::new(weights)).unwrap(), &test),
        _ => result(&fit.train_network(&"mlp:48-32".parse().unwrap()).unwrap(), &test),
    };
    std::fs::write(folder.join("result.tmp"), result).unwrap();
    std::fs::rename(folder.join("result.tmp"), folder.join("result")).unwrap();
}

/// Everything a run gives but its seconds.
fn result<N: Classifier>(fitted: &Fitted<N>, test: &tares_core::Dataset) -> Vec<u8> {
    assert_eq!(fitted.epochs.len(), EPOCHS);
    let mut out = Vec::new();
    fitted.epochs.iter().for_each(|epoch| out.extend(format!("{:?}\n", epoch.timeless()).bytes()));
    out.extend(format!("{:?}", fitted.history).bytes());
    out.extend(fitted.probabilities(test).unwrap().iter().flat_map(|p| p.to_le_bytes()));
    fitted.networks.iter().for_each(|network| out.extend(to_safetensors(network).unwrap()));
    out
}

fn spawn(folder: &Path, method: &str, network: &str, threads: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env("TARES_TEST_FOLDER", folder)
        .env("TARES_TEST_METHOD", method)
        .env("TARES_TEST_NETWORK", network)
        .env("RAYON_NUM_THREADS", threads)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The result of a run that nobody disturbs.
fn undisturbed(method: &str, network: &str, threads: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    assert!(spawn(folder.path(), method, network, threads).wait().unwrap().success(), "{method}, {network}");
    std::fs::read(folder.path().join("result")).unwrap()
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    for (method, network) in [("npcl:0.4", "mlp"), ("co-teaching:0.4", "own"), ("d2l", "own"), ("rog", "mlp")] {
        let (one, two) = (undisturbed(method, network, "1"), undisturbed(method, network, "2"));
        assert!(one == two, "{method}, {network}: another result on two threads");
    }
}

#[test]
fn killed_at_any_moment_it_continues_to_the_same_bits() {
    // Another seed every time would be a test nobody can repeat; the moments differ anyway, with the machine's load.
    let mut draws = stream(1, "kill");
    let (mut kills, mut killed_in_training) = (0, 0);
    let mut round = 0;
    while round < METHODS.len() || kills < 20 {
        let method = METHODS[round % METHODS.len()];
        let network = if round % 2 == 0 { "own" } else { "mlp" };
        round += 1;
        let started = Instant::now();
        let expected = undisturbed(method, network, "2");
        let whole = started.elapsed();
        let folder = tempfile::tempdir().unwrap();
        loop {
            let mut child = spawn(folder.path(), method, network, "2");
            // After a few kills it may end: the last life is as long as it needs.
            let alive = whole.mul_f64(0.1 + 0.5 * draws.unit());
            let deadline = Instant::now() + alive;
            let ended = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break Some(status),
                    None if Instant::now() >= deadline => break None,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            match ended {
                Some(status) => {
                    assert!(status.success(), "{method}, {network}: failed after {kills} kills");
                    break;
                }
                None => {
                    child.kill().unwrap(); // SIGKILL
                    child.wait().unwrap();
                    kills += 1;
                    killed_in_training += usize::from(folder.path().join("checkpoint").exists());
                }
            }
        }
        let result = std::fs::read(folder.path().join("result")).unwrap();
        assert!(result == expected, "{method}, {network}: another result after a kill");
    }
    println!("{kills} kills, {killed_in_training} of them after the first epoch, {round} runs");
    assert!(kills >= 20 && killed_in_training >= 10, "{kills} kills, {killed_in_training} after the first epoch");
}
