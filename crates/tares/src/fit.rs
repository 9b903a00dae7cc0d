//! [`Fit`]: data, a network, a method and a plan give a [`Fitted`] network.
//!
//! ```text
//! Fit::new(&train, &method, &plan) → .test(&test) .device(..) .resume(..) .on_epoch(..) → .network(&name) or .module(init)
//! ```
//! One thread trains, one prepares batches. Every random number is a function of the plan's seed and of the epoch or the
//! step it is drawn in, so a run that continues from a [`Checkpoint`] gives the same bits as one that was never stopped.

use crate::augment::Preparation;
use crate::batches::{Batch, Batches};
use crate::checkpoint::{Checkpoint, checksum};
use crate::error::{Error, Result};
use crate::evaluate;
use crate::history::{Epoch, History, Seen, Tally, load_epochs, save_epochs};
use crate::method::{Method, RogHead};
use crate::network::{AnyNetwork, Classifier, Network, Weights, begin_step};
use crate::optimiser::{Descent, Optimiser};
use crate::plan::Plan;
use crate::safetensors::{from_safetensors, to_safetensors};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::time::Instant;
use tares_core::{Dataset, Label, Row, stream};

/// A loss beyond this is as good as infinite.
const DIVERGED: f64 = 1e9;

/// What the callback of an epoch decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End the run after this epoch.
    Stop,
}

/// What the callback of an epoch may look at.
pub struct Progress<'a> {
    /// The epoch that just ended.
    pub epoch: &'a Epoch,
    /// All epochs so far, this one last.
    pub epochs: &'a [Epoch],
    /// How many epochs the plan has.
    pub of: usize,
    /// What was seen of every training row.
    pub history: &'a History,
    checkpoint: &'a dyn Fn() -> Result<Checkpoint>,
}

impl Progress<'_> {
    /// The complete state after this epoch; made only when asked for.
    ///
    /// # Errors
    /// Weights that cannot be written.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        (self.checkpoint)()
    }
}

type OnEpoch<'a> = Box<dyn FnMut(&Progress<'_>) -> Control + 'a>;

/// A run to be: everything but the network.
///
/// ```
/// use tares::{Fit, Method, Plan};
/// use tares_core::{Dataset, Shape};
/// let rows: Vec<f32> = (0..40).flat_map(|i| [(i % 2) as f32, 1.0]).collect();
/// let data = Dataset::new(rows, Shape::Flat(2), (0..40).map(|i| i % 2).collect(), ["even", "odd"])?;
/// let plan = Plan { epochs: 30, batch: 8, ..Plan::default() };
/// let fitted = Fit::new(&data, &Method::Standard, &plan).network(&"mlp:16".parse()?)?;
/// assert_eq!(fitted.predictions(&data)?, data.given());
/// # Ok::<(), tares::Error>(())
/// ```
pub struct Fit<'a> {
    train: &'a Dataset,
    test: Option<&'a Dataset>,
    method: &'a Method,
    plan: &'a Plan,
    device: Device,
    resume: Option<Checkpoint>,
    on_epoch: OnEpoch<'a>,
}

impl<'a> Fit<'a> {
    /// A run on the CPU, without test data and callback.
    pub fn new(train: &'a Dataset, method: &'a Method, plan: &'a Plan) -> Self {
        let on_epoch: OnEpoch<'a> = Box::new(|_| Control::Continue);
        Self { train, test: None, method, plan, device: Device::flex(), resume: None, on_epoch }
    }

    /// Judges the network on this data after every epoch.
    #[must_use]
    pub fn test(mut self, test: &'a Dataset) -> Self {
        self.test = Some(test);
        self
    }

    /// Trains on this device.
    #[must_use]
    pub fn device(mut self, device: &Device) -> Self {
        self.device = device.clone();
        self
    }

    /// Continues from here instead of starting.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Some(checkpoint);
        self
    }

    /// Calls this after every epoch.
    #[must_use]
    pub fn on_epoch(mut self, callback: impl FnMut(&Progress<'_>) -> Control + 'a) -> Self {
        self.on_epoch = Box::new(callback);
        self
    }

    /// Trains one of the networks of this crate.
    ///
    /// # Errors
    /// Values outside their domain; data that doesn't fit the network; a run that diverges; a checkpoint of another
    /// run.
    pub fn network(self, network: &Network) -> Result<Fitted<AnyNetwork>> {
        let shape = Preparation::new(self.train, &self.plan.augment, &self.plan.normalise)?.shape();
        let classes = self.train.classes();
        let init = |weights: &mut Weights, _: &Device| Ok(network.build(shape, classes, weights)?);
        self.run(&network.to_string(), &init)
    }

    /// Trains a module of your own. `init` makes it on the device with autodiff it is given; it is called once per
    /// network of the method. Draw its weights from `Weights`, or leave them to Burn: its generator is seeded before
    /// the call.
    ///
    /// # Errors
    /// As [`Fit::network`].
    pub fn module<N: Classifier>(self, init: impl Fn(&mut Weights, &Device) -> N) -> Result<Fitted<N>> {
        self.run(std::any::type_name::<N>(), &|weights, device| Ok(init(weights, device)))
    }

    fn run<N: Classifier>(self, name: &str, init: &Init<'_, N>) -> Result<Fitted<N>> {
        self.plan.check()?;
        self.method.check()?;
        let preparation = Preparation::new(self.train, &self.plan.augment, &self.plan.normalise)?;
        if let Some(test) = self.test {
            preparation.check(test)?;
            if test.classes() != self.train.classes() {
                let allowed = format!("{}, as in the training data", self.train.classes());
                return Err(tares_core::Error::value("classes of the test data", allowed, test.classes()).into());
            }
        }
        let identity = Identity::new(name, self.method, self.plan, self.train);
        let aside = self.method.aside(self.train, self.plan.seed);
        let mut inside = vec![true; self.train.len()];
        aside.iter().for_each(|&row| inside[row] = false);
        let mut run = Run {
            train: self.train,
            test: self.test,
            plan: self.plan,
            device: if self.device.is_autodiff() { self.device } else { self.device.autodiff() },
            preparation,
            rows: (0..self.train.len()).filter(|&row| inside[row]).collect(),
            init,
            identity,
            resume: self.resume,
            on_epoch: self.on_epoch,
            clean: self.train.clean(),
            history: History::new(self.train.len()),
            epochs: Vec::new(),
            steps: 0,
            tally: Tally::default(),
            stopped: false,
            started: Instant::now(),
        };
        if let Some(checkpoint) = &run.resume {
            run.identity.check(checkpoint)?;
            run.history = History::load(checkpoint, run.train.len())?;
            run.epochs = load_epochs(checkpoint)?;
            run.steps = checkpoint.u64("steps")?;
        }
        let networks = self.method.train(&mut run)?;
        let mut fitted = Fitted {
            networks: networks.iter().map(Module::valid).collect(),
            epochs: run.epochs,
            history: run.history,
            preparation: run.preparation,
            head: None,
            classes: run.train.classes(),
            device: run.device.inner(),
        };
        if let Method::Rog(rog) = self.method {
            let (network, seed) = (&fitted.networks[0], self.plan.seed);
            fitted.head = Some(rog.fit(network, &fitted.preparation, self.train, &aside, seed, &fitted.device)?);
        }
        Ok(fitted)
    }
}

/// How a network is made: with these weights, on this device.
pub(crate) type Init<'a, N> = dyn Fn(&mut Weights, &Device) -> Result<N> + 'a;

/// A trained network, and what was seen on the way.
#[derive(Debug)]
pub struct Fitted<N> {
    /// The networks, without autodiff; the first one answers.
    pub networks: Vec<N>,
    /// One line per epoch.
    pub epochs: Vec<Epoch>,
    /// One line per training row.
    pub history: History,
    /// How rows become inputs.
    pub preparation: Preparation,
    /// The robust head, for [`Method::Rog`]; it answers in the network's place.
    pub head: Option<RogHead>,
    classes: usize,
    device: Device,
}

impl<N: Classifier> Fitted<N> {
    /// The probability of every class for every row: `[N][K]`, one row after the other.
    ///
    /// # Errors
    /// Data of another shape than the training data.
    pub fn probabilities(&self, data: &Dataset) -> Result<Vec<f32>> {
        match &self.head {
            Some(head) => head.probabilities(&self.networks[0], &self.preparation, data, &self.device),
            None => evaluate::probabilities(&self.networks[0], &self.preparation, data, &self.device),
        }
    }

    /// The likeliest class of every row.
    ///
    /// # Errors
    /// Data of another shape than the training data.
    pub fn predictions(&self, data: &Dataset) -> Result<Vec<Label>> {
        Ok(evaluate::answers(&self.probabilities(data)?, self.classes))
    }

    /// The part of the rows whose given label is the likeliest class.
    ///
    /// # Errors
    /// Data of another shape than the training data.
    pub fn accuracy(&self, data: &Dataset) -> Result<f64> {
        let right = self.predictions(data)?.iter().zip(data.given()).filter(|(a, b)| a == b).count();
        Ok(right as f64 / data.len() as f64)
    }

    /// The weights of the first network, as the bytes of a safetensors file.
    ///
    /// # Errors
    /// Weights safetensors cannot hold.
    pub fn safetensors(&self) -> Result<Vec<u8>> {
        to_safetensors(&self.networks[0])
    }

    /// The mean test accuracy of the last `k` epochs, if there was test data.
    pub fn mean_of_last(&self, k: usize) -> Option<f64> {
        let last: Vec<f64> = self.epochs.iter().rev().take(k).filter_map(|epoch| epoch.test_accuracy).collect();
        (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
    }
}

/// A network and the optimiser at work on it.
pub(crate) struct Learner<M> {
    name: String,
    pub network: M,
    descent: Descent,
}

impl<M: Module> Learner<M> {
    pub fn new(name: &str, network: M, rule: Optimiser) -> Self {
        Self { name: name.to_owned(), network, descent: Descent::new(rule) }
    }

    pub fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        let name = &self.name;
        checkpoint.put(format!("{name}/weights"), to_safetensors(&self.network)?);
        let (steps, moments) = self.descent.remembered();
        checkpoint.put_u64(&format!("{name}/steps"), steps);
        checkpoint.put_u64(&format!("{name}/moments"), moments.len() as u64);
        for (position, values) in moments.iter().enumerate() {
            checkpoint.put_f32s(format!("{name}/moment {position}"), values);
        }
        Ok(())
    }

    pub fn load(mut self, checkpoint: &Checkpoint, device: &Device) -> Result<Self> {
        let name = &self.name;
        let moments: Result<Vec<Vec<f32>>> = (0..checkpoint.u64(&format!("{name}/moments"))?)
            .map(|position| checkpoint.f32s(&format!("{name}/moment {position}")))
            .collect();
        self.descent.remember(checkpoint.u64(&format!("{name}/steps"))?, moments?, device);
        self.network = from_safetensors(self.network, checkpoint.bytes(&format!("{name}/weights"))?)?;
        Ok(self)
    }

    /// One update with these gradients.
    pub fn update(mut self, gradients: GradientsParams, lr: f64, beta1: f64) -> Self {
        self.network = self.descent.step(self.network, gradients, lr, beta1);
        self
    }
}

/// A run under way: the few verbs every method's loop needs.
pub(crate) struct Run<'a, N> {
    pub train: &'a Dataset,
    pub test: Option<&'a Dataset>,
    pub plan: &'a Plan,
    pub device: Device,
    pub preparation: Preparation,
    pub resume: Option<Checkpoint>,
    rows: Vec<usize>,
    init: &'a Init<'a, N>,
    identity: Identity,
    on_epoch: OnEpoch<'a>,
    clean: Option<Vec<bool>>,
    history: History,
    epochs: Vec<Epoch>,
    steps: u64,
    tally: Tally,
    stopped: bool,
    started: Instant,
}

impl<N: Classifier> Run<'_, N> {
    /// The learner called `name`, new or as the checkpoint has it. Different names start from different weights.
    pub fn learner(&self, name: &str) -> Result<Learner<N>> {
        let mut weights = Weights::new(self.plan.seed, name, &self.device);
        if self.plan.quirks {
            weights = weights.original();
        }
        // For modules that leave their weights to Burn: seeded, and drawn now rather than at first use.
        self.device.seed(stream(self.plan.seed, &format!("burn {name}")).bits());
        let network = (self.init)(&mut weights, &self.device)?;
        network.visit(&mut DrawNow);
        let learner = Learner::new(name, network, self.plan.optimiser.clone());
        match &self.resume {
            Some(checkpoint) => learner.load(checkpoint, &self.device),
            None => Ok(learner),
        }
    }

    /// The next epoch, if there is one.
    pub fn next_epoch(&mut self) -> Option<usize> {
        self.started = Instant::now();
        self.tally = Tally::default();
        (!self.stopped && self.epochs.len() < self.plan.epochs).then_some(self.epochs.len())
    }

    /// The batches of an epoch.
    pub fn batches(&self, epoch: usize) -> Batches {
        Batches::training(self.train, &self.rows, &self.preparation, self.plan, epoch, &self.device)
    }

    /// The step about to be made, from 0; everything random inside the networks follows from it.
    pub fn begin_step(&mut self) -> u64 {
        begin_step(self.plan.seed, self.steps, &self.device);
        self.steps += 1;
        self.steps - 1
    }

    /// Reads back what a network said about a batch, and remembers it.
    pub fn see(&mut self, batch: &Batch, logits: &Tensor<2>) -> Result<Seen> {
        let seen = Seen::new(to_host(logits.clone()), &batch.given);
        if let Some(&loss) = seen.losses.iter().find(|loss| !loss.is_finite()) {
            return Err(self.diverged("cross-entropy of a row", f64::from(loss)));
        }
        self.tally.see(batch, &seen, self.clean.as_deref(), &mut self.history);
        Ok(seen)
    }

    /// The rows at these positions of the batch count in an update.
    pub fn keep(&mut self, batch: &Batch, kept: &[u32]) {
        self.tally.keep(batch, kept, self.clean.as_deref(), &mut self.history);
    }

    /// All rows of the batch count in an update.
    pub fn keep_all(&mut self, batch: &Batch) {
        let all: Vec<u32> = (0..batch.len() as u32).collect();
        self.keep(batch, &all);
    }

    /// One update of one network along the gradient of `loss`, a single number.
    pub fn step<M: Module>(&mut self, learner: Learner<M>, loss: Tensor<1>, name: &str) -> Result<Learner<M>> {
        self.objective(&loss, name)?;
        let gradients = GradientsParams::from_grads(loss.backward(), &learner.network);
        let (lr, beta1) = self.rates();
        Ok(learner.update(gradients, lr, beta1))
    }

    /// One update of two networks along the gradient of one `loss`.
    pub fn step_both(
        &mut self,
        first: Learner<N>,
        second: Learner<N>,
        loss: Tensor<1>,
        name: &str,
    ) -> Result<(Learner<N>, Learner<N>)> {
        self.objective(&loss, name)?;
        let mut gradients = loss.backward();
        let one = GradientsParams::from_module(&mut gradients, &first.network);
        let two = GradientsParams::from_module(&mut gradients, &second.network);
        let (lr, beta1) = self.rates();
        Ok((first.update(one, lr, beta1), second.update(two, lr, beta1)))
    }

    /// A step in which nothing was left to learn from.
    pub fn starve(&mut self) {
        self.tally.step(0.0, true);
    }

    /// Ends the epoch: judges the first network, tells the callback. `state` adds what the method itself must not
    /// forget to a checkpoint.
    pub fn end_epoch(&mut self, learners: &[&Learner<N>], state: &dyn Fn(&mut Checkpoint) -> Result<()>) -> Result<()> {
        let epoch = self.epochs.len();
        let mut line = self.tally.epoch(epoch, self.plan.learning_rate(epoch), self.clean.is_some());
        if let Some(test) = self.test {
            let network = learners[0].network.valid();
            line.test_accuracy =
                Some(evaluate::accuracy(&network, &self.preparation, test, self.plan, &self.device.clone().inner())?);
        }
        line.seconds = self.started.elapsed().as_secs_f64();
        self.epochs.push(line);
        let checkpoint = || {
            let mut checkpoint = Checkpoint::default();
            self.identity.save(&mut checkpoint);
            checkpoint.put_u64("epochs done", self.epochs.len() as u64);
            checkpoint.put_u64("steps", self.steps);
            save_epochs(&self.epochs, &mut checkpoint);
            self.history.save(&mut checkpoint);
            learners.iter().try_for_each(|learner| learner.save(&mut checkpoint))?;
            state(&mut checkpoint)?;
            Ok(checkpoint)
        };
        let progress = Progress {
            epoch: &self.epochs[epoch],
            epochs: &self.epochs,
            of: self.plan.epochs,
            history: &self.history,
            checkpoint: &checkpoint,
        };
        self.stopped = (self.on_epoch)(&progress) == Control::Stop;
        Ok(())
    }

    /// Counts an objective, unless it is not a number any more.
    fn objective(&mut self, loss: &Tensor<1>, name: &str) -> Result<()> {
        let value = f64::from(to_host(loss.clone())[0]);
        if value.is_nan() || value.abs() > DIVERGED {
            return Err(self.diverged(name, value));
        }
        self.tally.step(value, value == 0.0);
        Ok(())
    }

    fn diverged(&self, loss: &str, value: f64) -> Error {
        Error::Diverged { loss: loss.to_owned(), value, epoch: self.epochs.len(), step: self.steps.saturating_sub(1) }
    }

    fn rates(&self) -> (f64, f64) {
        let epoch = self.epochs.len();
        let beta1 = match &self.plan.optimiser {
            Optimiser::Adam(adam) => self.plan.schedule.beta1(epoch, self.plan.epochs, adam.beta1),
            Optimiser::Sgd(_) => 0.0,
        };
        (self.plan.learning_rate(epoch), beta1)
    }
}

/// A tensor's numbers on the host.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec_as::<f32>().expect("a float tensor holds floats")
}

/// Positions on the device.
pub(crate) fn positions(kept: &[u32], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = kept.iter().map(|&position| position as i32).collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// Draws every lazy weight.
struct DrawNow;

impl ModuleVisitor for DrawNow {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let _ = param.val();
    }
}

/// What makes a run this run and no other.
struct Identity {
    parts: [(&'static str, Vec<u8>); 4],
}

impl Identity {
    fn new(network: &str, method: &Method, plan: &Plan, train: &Dataset) -> Self {
        let text = |value: serde_json::Result<String>| value.expect("plain data").into_bytes();
        Self {
            parts: [
                ("network", network.as_bytes().to_vec()),
                ("method", text(serde_json::to_string(method))),
                ("plan", text(serde_json::to_string(plan))),
                ("training data", fingerprint(train).to_le_bytes().to_vec()),
            ],
        }
    }

    fn save(&self, checkpoint: &mut Checkpoint) {
        self.parts.iter().for_each(|(what, value)| checkpoint.put(format!("identity/{what}"), value.clone()));
    }

    fn check(&self, checkpoint: &Checkpoint) -> Result<()> {
        for (what, value) in &self.parts {
            let stored = checkpoint.bytes(&format!("identity/{what}"))?;
            if stored != value {
                let shown = |value: &[u8]| match *what {
                    "training data" => String::from("other rows"),
                    _ => String::from_utf8_lossy(value).into_owned(),
                };
                return Err(Error::Checkpoint(format!(
                    "belongs to another run: its {what} is {}, this run's is {}",
                    shown(stored),
                    if *what == "training data" { "different".into() } else { shown(value) }
                )));
            }
        }
        Ok(())
    }
}

/// A number that changes when any row, label or class name changes.
fn fingerprint(data: &Dataset) -> u64 {
    let mut sums = Vec::with_capacity(8 * data.len());
    for index in 0..data.len() {
        let sum = match data.row(index) {
            Row::Bytes(values) => checksum(values),
            Row::Floats(values) => checksum(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
        };
        sums.extend_from_slice(&sum.to_le_bytes());
    }
    data.given().iter().for_each(|label| sums.extend_from_slice(&label.to_le_bytes()));
    sums.extend_from_slice(data.class_names().join("\n").as_bytes());
    checksum(&sums)
}
