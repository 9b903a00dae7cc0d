//! A run under way, and the few verbs every method's loop needs.
//!
//! ```text
//! learner → while next_epoch { for batches { begin_step → see → keep → step, or starve } → end_epoch }
//! ```

use crate::batches::{Batch, Batches};
use crate::checkpoint::Checkpoint;
use crate::descent::Descent;
use crate::error::{Error, Result};
use crate::evaluate;
use crate::fit::{Control, Progress};
use crate::history::{Epoch, History, Seen, Tally, load_epochs, save_epochs};
use crate::identity::Identity;
use crate::input_transform::InputTransform;
use crate::network::{Classifier, Weights, begin_step};
use crate::optimiser::Optimiser;
use crate::plan::Plan;
use crate::safetensors::{from_safetensors, to_safetensors};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::time::Instant;
use tares_core::{Dataset, stream};
use tares_kernels::free_memory;

/// The entry of a checkpoint with the probabilities of the watched rows.
const WATCHED: &str = "watched";
/// A loss beyond this counts as diverged.
const DIVERGED: f64 = 1e9;

pub(crate) type OnEpoch<'a> = Box<dyn FnMut(&Progress<'_>) -> Control + 'a>;

/// How a network is made: with these weights, on this device.
pub(crate) type Init<'a, N> = dyn Fn(&mut Weights, &Device) -> Result<N> + 'a;

/// A run under way: the few verbs every method's loop needs.
pub(crate) struct Run<'a, N> {
    pub train: &'a Dataset,
    pub test: Option<&'a Dataset>,
    watch: Option<Watch<'a>>,
    pub plan: &'a Plan,
    pub device: Device,
    pub transform: InputTransform,
    pub resume: Option<Checkpoint>,
    rows: Vec<usize>,
    init: &'a Init<'a, N>,
    identity: Identity<'a>,
    on_epoch: OnEpoch<'a>,
    clean: Option<Vec<bool>>,
    pub history: History,
    pub epochs: Vec<Epoch>,
    /// Probabilities of the watched rows, epoch after epoch.
    pub watched: Vec<f32>,
    steps: u64,
    tally: Tally,
    stopped: bool,
    started: Instant,
}

/// Rows whose probabilities are recorded after every n-th epoch, the last one included.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub rows: &'a Dataset,
    pub every: usize,
}

impl Watch<'_> {
    fn wants(&self, epoch: usize, epochs: usize) -> bool {
        (epochs - 1 - epoch).is_multiple_of(self.every)
    }

    /// How many of the first `done` epochs are recorded.
    pub fn times(&self, done: usize, epochs: usize) -> usize {
        (0..done).filter(|&epoch| self.wants(epoch, epochs)).count()
    }
}

/// What a run starts from.
pub(crate) struct Start<'a> {
    pub train: &'a Dataset,
    pub test: Option<&'a Dataset>,
    pub watch: Option<Watch<'a>>,
    /// Rows of the training data that no network may see.
    pub aside: &'a [usize],
    pub plan: &'a Plan,
    pub device: Device,
    pub transform: InputTransform,
    pub resume: Option<Checkpoint>,
    pub on_epoch: OnEpoch<'a>,
}

impl<'a, N: Classifier> Run<'a, N> {
    /// A run at its start, or where the checkpoint left it.
    pub fn new(start: Start<'a>, identity: Identity<'a>, init: &'a Init<'a, N>) -> Result<Self> {
        let rows = start.train.len();
        let mut inside = vec![true; rows];
        start.aside.iter().for_each(|&row| inside[row] = false);
        let mut run = Self {
            train: start.train,
            test: start.test,
            watch: start.watch,
            plan: start.plan,
            device: start.device,
            transform: start.transform,
            rows: (0..rows).filter(|&row| inside[row]).collect(),
            init,
            identity,
            resume: start.resume,
            on_epoch: start.on_epoch,
            clean: start.train.clean(),
            history: History::new(rows),
            epochs: Vec::new(),
            watched: Vec::new(),
            steps: 0,
            tally: Tally::default(),
            stopped: false,
            started: Instant::now(),
        };
        if let Some(checkpoint) = &run.resume {
            run.identity.check(checkpoint)?;
            run.history = History::load(checkpoint, rows, run.train.classes())?;
            run.epochs = load_epochs(checkpoint)?;
            run.steps = checkpoint.count("steps")?;
            if let Some(watch) = run.watch {
                run.watched = checkpoint.f32s(WATCHED)?;
                let wanted = watch.times(run.epochs.len(), run.plan.epochs) * watch.rows.len() * watch.rows.classes();
                if run.watched.len() != wanted {
                    let text = format!("'{WATCHED}' must hold {wanted} numbers, got {}", run.watched.len());
                    return Err(Error::Checkpoint(text));
                }
            }
        }
        Ok(run)
    }

    /// The learner called `name`, new or as the checkpoint has it. Different names start from different weights.
    pub fn learner(&self, name: &str) -> Result<Learner<N>> {
        let mut weights = Weights::new(self.plan.seed, name, &self.device);
        if self.plan.quirks {
            weights = weights.original();
        }
        // Modules that leave their weights to Burn: seed its generator, and draw now rather than at first use.
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
        Batches::training(self.train, &self.rows, &self.transform, self.plan, epoch, &self.device)
    }

    /// Starts a step and returns its number, from 0. Everything random inside the networks follows from this number.
    pub fn begin_step(&mut self) -> u64 {
        begin_step(self.plan.seed, self.steps, &self.device);
        self.steps += 1;
        self.steps - 1
    }

    /// Reads a batch's logits back to the host and adds them to the history.
    pub fn see(&mut self, batch: &Batch, logits: &Tensor<2>) -> Result<Seen> {
        let (dims, classes) = (logits.dims(), self.train.classes());
        if dims != [batch.len(), classes] {
            let allowed = format!("[{}, {classes}]: a row per sample, a column per class", batch.len());
            return Err(tares_core::Error::value("logits of the network", allowed, format!("{dims:?}")).into());
        }
        let seen = Seen::new(to_host(logits.clone()), &batch.given);
        self.train.sound()?;
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
        self.step_that_may_starve(learner, loss, name, false)
    }

    /// The same for a loss that says itself whether it has no gradient. The update is made all the same: momentum and weight
    /// decay move on, as in other programs.
    pub fn step_that_may_starve<M: Module>(
        &mut self,
        learner: Learner<M>,
        loss: Tensor<1>,
        name: &str,
        starved: bool,
    ) -> Result<Learner<M>> {
        self.objective(&loss, name, starved)?;
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
        self.objective(&loss, name, false)?;
        let mut gradients = loss.backward();
        let one = GradientsParams::from_module(&mut gradients, &first.network);
        let two = GradientsParams::from_module(&mut gradients, &second.network);
        let (lr, beta1) = self.rates();
        Ok((first.update(one, lr, beta1), second.update(two, lr, beta1)))
    }

    /// The curriculum's bound on this batch, and the sum of its ranking losses.
    pub fn bound(&mut self, batch: &Batch, objective: f64, plain: f64) {
        self.tally.bound(batch.len(), objective, plain);
    }

    /// The share of wrong labels that the method believes in now.
    pub fn estimated_rate(&mut self, rate: f64) {
        self.tally.estimated_rate(rate);
    }

    /// Counts a step without an update, because nothing of the batch was kept: without an objective there is nothing that
    /// momentum could go on with.
    pub fn starve(&mut self) {
        self.tally.step(0.0, true);
    }

    /// Ends the epoch: tests the first network and calls the callback. `state` adds the method's own state to a
    /// checkpoint, if one is asked for.
    pub fn end_epoch(&mut self, learners: &[&Learner<N>], state: &dyn Fn(&mut Checkpoint) -> Result<()>) -> Result<()> {
        let epoch = self.epochs.len();
        let mut line = self.tally.epoch(epoch, self.plan.learning_rate(epoch), self.clean.is_some());
        // Batches of testing are larger: without this, the memory of both kinds would wait side by side.
        free_memory();
        if let Some(test) = self.test {
            let network = learners[0].network.valid();
            line.test_accuracy =
                Some(evaluate::accuracy(&network, &self.transform, test, self.plan, &self.device.clone().inner())?);
        }
        if let Some(watch) = self.watch.filter(|watch| watch.wants(epoch, self.plan.epochs)) {
            let network = learners[0].network.valid();
            let device = self.device.clone().inner();
            self.watched.extend(evaluate::probabilities(&network, &self.transform, watch.rows, &device)?);
        }
        free_memory();
        // What was learnt from rows that could not be read must not look like a result.
        [Some(self.train), self.test].into_iter().flatten().try_for_each(Dataset::arrived)?;
        line.seconds = self.started.elapsed().as_secs_f64();
        self.epochs.push(line);
        let checkpoint = || {
            let mut checkpoint = Checkpoint::default();
            self.identity.save(&mut checkpoint)?;
            checkpoint.put_u64("epochs done", self.epochs.len() as u64);
            checkpoint.put_u64("steps", self.steps);
            save_epochs(&self.epochs, &mut checkpoint);
            self.history.save(&mut checkpoint);
            if self.watch.is_some() {
                checkpoint.put_f32s(WATCHED, &self.watched);
            }
            learners.iter().try_for_each(|learner| learner.save(&mut checkpoint))?;
            state(&mut checkpoint)?;
            Ok(checkpoint)
        };
        let progress = Progress {
            epoch: &self.epochs[epoch],
            epochs: &self.epochs,
            total_epochs: self.plan.epochs,
            history: &self.history,
            checkpoint: &checkpoint,
        };
        self.stopped = (self.on_epoch)(&progress) == Control::Stop;
        Ok(())
    }

    /// Records the objective of a step; an error if it has diverged.
    fn objective(&mut self, loss: &Tensor<1>, name: &str, starved: bool) -> Result<()> {
        let value = f64::from(to_host(loss.clone())[0]);
        if value.is_nan() || value.abs() > DIVERGED {
            return Err(self.diverged(name, value));
        }
        self.tally.step(value, starved || value == 0.0);
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

/// A network and its optimiser.
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
        let steps = checkpoint.count(&format!("{name}/steps"))?;
        self.descent.remember(steps, moments?, &self.network, device)?;
        self.network = from_safetensors(self.network, checkpoint.bytes(&format!("{name}/weights"))?)?;
        Ok(self)
    }

    /// One update with these gradients.
    pub fn update(mut self, gradients: GradientsParams, lr: f64, beta1: f64) -> Self {
        self.network = self.descent.step(self.network, gradients, lr, beta1);
        self
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

/// Initialises every weight that Burn would otherwise draw at its first use.
struct DrawNow;

impl ModuleVisitor for DrawNow {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let _ = param.val();
    }
}
