//! [`Fit`]: data, a network, a method and a plan give a [`Fitted`] network.
//!
//! ```text
//! Fit::new(&train, &method, &plan) → .test(&test) .device(..) .resume(..) .on_epoch(..) → .train_network(&name) or .train_module(init)
//! ```
//! One thread trains, one prepares batches. Every random number is a function of the plan's seed and of the epoch or the
//! step it is drawn in, so a run that continues from a [`Checkpoint`] gives the same bits as one that was never stopped.

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::evaluate;
use crate::history::{Epoch, History};
use crate::identity::Identity;
use crate::input_transform::InputTransform;
use crate::method::{Method, RogHead};
use crate::network::{AnyNetwork, Classifier, Network, Weights};
use crate::plan::Plan;
use crate::run::{Init, OnEpoch, Run, Start, Watch};
use crate::safetensors::to_safetensors;
use burn::module::Module;
use burn::tensor::Device;
use tares_core::{Dataset, Label};
use tares_kernels::free_memory;

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
    pub total_epochs: usize,
    /// What was seen of every training row.
    pub history: &'a History,
    pub(crate) checkpoint: &'a dyn Fn() -> Result<Checkpoint>,
}

impl Progress<'_> {
    /// The complete state after this epoch. It is made only when this is called.
    ///
    /// # Errors
    /// Weights that cannot be written.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        (self.checkpoint)()
    }
}

/// A training run before it starts: everything but the network.
///
/// ```
/// use tares::{Fit, Method, Plan};
/// use tares_core::{Dataset, Shape};
/// let rows: Vec<f32> = (0..40).flat_map(|i| [(i % 2) as f32, 1.0]).collect();
/// let data = Dataset::new(rows, Shape::Flat(2), (0..40).map(|i| i % 2).collect(), ["even", "odd"])?;
/// let plan = Plan { epochs: 30, batch: 8, ..Plan::default() };
/// let fitted = Fit::new(&data, &Method::Standard, &plan).train_network(&"mlp:16".parse()?)?;
/// assert_eq!(fitted.predictions(&data)?, data.given());
/// # Ok::<(), tares::Error>(())
/// ```
pub struct Fit<'a> {
    train: &'a Dataset,
    test: Option<&'a Dataset>,
    watch: Option<Watch<'a>>,
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
        Self { train, test: None, watch: None, method, plan, device: Device::flex(), resume: None, on_epoch }
    }

    /// Tests the network on this data after every epoch.
    #[must_use]
    pub fn test(mut self, test: &'a Dataset) -> Self {
        self.test = Some(test);
        self
    }

    /// Records the probabilities of these rows after every n-th epoch, counted back from the last: [`Fitted::watched`].
    #[must_use]
    pub fn watch(mut self, rows: &'a Dataset, every: usize) -> Self {
        self.watch = Some(Watch { rows, every: every.max(1) });
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
    pub fn train_network(self, network: &Network) -> Result<Fitted<AnyNetwork>> {
        let shape = InputTransform::new(self.train, &self.plan.augment, &self.plan.normalise)?.shape();
        let classes = self.train.classes();
        let init = |weights: &mut Weights, _: &Device| Ok(network.build(shape, classes, weights)?);
        self.run(&network.to_string(), &init)
    }

    /// Trains your own module. `init` makes it on the device with autodiff it is given; it is called once per
    /// network of the method. Draw its weights from `Weights`, or leave them to Burn: its generator is seeded before
    /// the call.
    ///
    /// # Errors
    /// As [`Fit::train_network`].
    pub fn train_module<N: Classifier>(self, init: impl Fn(&mut Weights, &Device) -> N) -> Result<Fitted<N>> {
        self.run(std::any::type_name::<N>(), &|weights, device| Ok(init(weights, device)))
    }

    fn run<N: Classifier>(self, name: &str, init: &Init<'_, N>) -> Result<Fitted<N>> {
        self.plan.check()?;
        self.method.check()?;
        let transform = InputTransform::new(self.train, &self.plan.augment, &self.plan.normalise)?;
        if let Some(test) = self.test {
            transform.check(test)?;
            if test.classes() != self.train.classes() {
                let allowed = format!("{}, as in the training data", self.train.classes());
                return Err(tares_core::Error::value("classes of the test data", allowed, test.classes()).into());
            }
        }
        let aside = self.method.aside(self.train, self.plan.seed);
        let mut run = Run::new(
            Start {
                train: self.train,
                test: self.test,
                watch: self.watch,
                aside: &aside,
                plan: self.plan,
                device: if self.device.is_autodiff() { self.device } else { self.device.autodiff() },
                transform,
                resume: self.resume,
                on_epoch: self.on_epoch,
            },
            Identity::new(name, self.method, self.plan, self.train),
            init,
        )?;
        let networks = self.method.train(&mut run);
        free_memory(); // what the steps used is of no use to what comes after them
        let networks = networks?;
        let mut fitted = Fitted {
            networks: networks.iter().map(Module::valid).collect(),
            epochs: run.epochs,
            history: run.history,
            watched: run.watched,
            transform: run.transform,
            head: None,
            classes: run.train.classes(),
            device: run.device.inner(),
        };
        if let Method::Rog(rog) = self.method {
            let (network, seed) = (&fitted.networks[0], self.plan.seed);
            fitted.head = Some(rog.fit(network, &fitted.transform, self.train, &aside, seed, &fitted.device)?);
        }
        Ok(fitted)
    }
}

/// A trained network, and the history of its training.
#[derive(Debug)]
pub struct Fitted<N> {
    /// The networks, without autodiff; the first one answers.
    pub networks: Vec<N>,
    /// One line per epoch.
    pub epochs: Vec<Epoch>,
    /// One line per training row.
    pub history: History,
    /// Probabilities of the rows of [`Fit::watch`], `[epoch][row][class]`.
    pub watched: Vec<f32>,
    /// How rows become inputs.
    pub transform: InputTransform,
    /// The robust head, for [`Method::Rog`]. If there is one, it answers instead of the network.
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
        let probabilities = match &self.head {
            Some(head) => head.probabilities(&self.networks[0], &self.transform, data, &self.device),
            None => evaluate::probabilities(&self.networks[0], &self.transform, data, &self.device),
        };
        free_memory();
        probabilities
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

    /// The mean test accuracy of the [`last_epochs`](tares_core::metric::last_epochs), if there was test data.
    pub fn mean_of_last(&self) -> Option<f64> {
        let per_epoch: Vec<Option<f64>> = self.epochs.iter().map(|epoch| epoch.test_accuracy).collect();
        tares_core::metric::mean_of_last(&per_epoch)
    }
}

#[cfg(test)]
mod tests;
