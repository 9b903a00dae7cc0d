//! [`Descent`]: an optimiser with its state for one module; the state can be saved and restored.
//!
//! Burn's own Adam fixes beta1 when it is made and keys its state by parameter numbers drawn at random. Here the
//! schedule changes beta1 in the middle of a run, and a run that resumes exactly needs a state in a fixed order: one slot
//! per parameter, in the order in which the module is visited.

use crate::error::{Error, Result};
use crate::optimiser::Optimiser;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use tares_kernels::AdamStep;

/// An [`Optimiser`] at work on one module: its rule, and the moments of past gradients.
#[derive(Clone, Debug)]
pub struct Descent {
    rule: Optimiser,
    steps: u64,
    /// One per parameter that ever had a gradient, in the order of the module's visit.
    slots: Vec<Option<Slot>>,
}

/// The state of one parameter, flattened: the first moment or velocity, and Adam's second moment.
#[derive(Clone, Debug)]
struct Slot {
    first: Tensor<1>,
    second: Option<Tensor<1>>,
}

impl Descent {
    /// An optimiser before its first step.
    pub fn new(rule: Optimiser) -> Self {
        Self { rule, steps: 0, slots: Vec::new() }
    }

    /// One update of every parameter that has a gradient, with the learning rate `lr` and, for Adam, this `beta1`.
    pub fn step<M: Module>(&mut self, module: M, gradients: GradientsParams, lr: f64, beta1: f64) -> M {
        self.steps += 1;
        let mut update = Update { descent: self, gradients, lr, beta1, position: 0 };
        module.map(&mut update)
    }

    /// The whole state as plain numbers: how many steps were made, and two lists per parameter, its first and second
    /// moments (SGD: the velocity and nothing).
    pub fn remembered(&self) -> (u64, Vec<Vec<f32>>) {
        let numbers = |tensor: &Tensor<1>| tensor.to_data().try_to_vec::<f32>().expect("moments are f32");
        let mut all = Vec::with_capacity(2 * self.slots.len());
        for slot in &self.slots {
            all.push(slot.as_ref().map_or(Vec::new(), |slot| numbers(&slot.first)));
            all.push(slot.as_ref().and_then(|slot| slot.second.as_ref()).map_or(Vec::new(), numbers));
        }
        (self.steps, all)
    }

    /// Restores what [`remembered`](Descent::remembered) returned, for the same rule and module.
    ///
    /// # Errors
    /// Moments that are not those of this rule and module: they come from a file.
    pub fn remember<M: Module>(
        &mut self,
        steps: u64,
        moments: Vec<Vec<f32>>,
        module: &M,
        device: &Device,
    ) -> Result<()> {
        self.check_moments(&moments, module)?;
        let device = device.clone().inner();
        let tensor = |numbers: Vec<f32>| {
            let length = numbers.len();
            (length > 0).then(|| Tensor::<1>::from_data(TensorData::new(numbers, [length]), &device))
        };
        self.steps = steps;
        self.slots.clear();
        let mut moments = moments.into_iter();
        while let (Some(first), Some(second)) = (moments.next(), moments.next()) {
            self.slots.push(tensor(first).map(|first| Slot { first, second: tensor(second) }));
        }
        Ok(())
    }

    /// Every parameter has both moments of its own length (Adam), a velocity (SGD), or none yet.
    fn check_moments<M: Module>(&self, moments: &[Vec<f32>], module: &M) -> Result<()> {
        let mut lengths = Lengths(Vec::new());
        module.visit(&mut lengths);
        let most = 2 * lengths.0.len();
        if moments.len() > most || moments.len() % 2 == 1 {
            let wrong = format!("moments must be two for each of {} parameters, got {}", most / 2, moments.len());
            return Err(Error::Checkpoint(wrong));
        }
        for (parameter, (pair, &length)) in moments.chunks_exact(2).zip(&lengths.0).enumerate() {
            let second = if matches!(self.rule, Optimiser::Adam(_)) { length } else { 0 };
            let found = (pair[0].len(), pair[1].len());
            if found != (0, 0) && found != (length, second) {
                let wrong = format!(
                    "moments of parameter {parameter} must have {length} and {second} numbers, got {} and {}",
                    found.0, found.1
                );
                return Err(Error::Checkpoint(wrong));
            }
            if pair[0].iter().any(|value| !value.is_finite())
                || pair[1].iter().any(|value| !(*value >= 0.0 && value.is_finite()))
            {
                let wrong = format!("moments of parameter {parameter} must be finite, and the second at least 0");
                return Err(Error::Checkpoint(wrong));
            }
        }
        Ok(())
    }

    /// The new value of one flattened parameter.
    fn update(
        &mut self,
        position: usize,
        weight: Tensor<1>,
        mut gradient: Tensor<1>,
        lr: f64,
        beta1: f64,
    ) -> Tensor<1> {
        if self.slots.len() <= position {
            self.slots.resize(position + 1, None);
        }
        let slot = self.slots[position].take();
        match &self.rule {
            Optimiser::Adam(adam) => {
                let (first, second) = match slot {
                    Some(Slot { first, second: Some(second) }) => (first, second),
                    _ => (weight.zeros_like(), weight.zeros_like()),
                };
                // weight − lr · m̂ / (√v̂ + eps), with both corrections gathered in two scalars.
                let steps = self.steps as f64;
                let root = (1.0 - adam.beta2.powf(steps)).sqrt();
                let step = AdamStep {
                    beta1,
                    beta2: adam.beta2,
                    eps: adam.eps * root,
                    rate: lr * root / (1.0 - beta1.powf(steps)),
                    weight_decay: adam.weight_decay,
                };
                let [new, first, second] = tares_kernels::adam([weight, first, second], gradient, step);
                self.slots[position] = Some(Slot { first, second: Some(second) });
                new
            }
            Optimiser::Sgd(sgd) => {
                if sgd.weight_decay > 0.0 {
                    gradient = gradient + weight.clone().mul_scalar(sgd.weight_decay);
                }
                if sgd.momentum == 0.0 {
                    return weight - gradient.mul_scalar(lr);
                }
                let velocity = match slot {
                    Some(slot) => slot.first.mul_scalar(sgd.momentum) + gradient.clone(),
                    None => gradient.clone(),
                };
                self.slots[position] = Some(Slot { first: velocity.clone(), second: None });
                let direction = if sgd.nesterov { gradient + velocity.mul_scalar(sgd.momentum) } else { velocity };
                weight - direction.mul_scalar(lr)
            }
        }
    }
}

/// How many numbers each float parameter has, in the order of the module's visit.
struct Lengths(Vec<usize>);

impl ModuleVisitor for Lengths {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.lazy_shape().num_elements());
    }
}

/// The visit of a module that updates its parameters.
struct Update<'a> {
    descent: &'a mut Descent,
    gradients: GradientsParams,
    lr: f64,
    beta1: f64,
    position: usize,
}

impl ModuleMapper for Update<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let position = self.position;
        self.position += 1;
        let (id, tensor, mapper) = param.consume();
        let Some(gradient) = self.gradients.remove::<D>(id) else {
            return Param::from_mapped_value(id, tensor, mapper);
        };
        let tracked = tensor.is_require_grad();
        let dims = tensor.dims();
        let length = dims.iter().product::<usize>();
        let new = self.descent.update(
            position,
            tensor.inner().reshape([length]),
            gradient.reshape([length]),
            self.lr,
            self.beta1,
        );
        let mut tensor = Tensor::<D>::from_inner(new.reshape(dims));
        if tracked {
            tensor = tensor.require_grad();
        }
        Param::from_mapped_value(id, tensor, mapper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimiser::{Adam, Sgd};
    use burn::module::ParamId;
    use burn::optim::momentum::MomentumConfig;
    use burn::optim::{AdamConfig, SgdConfig};

    #[derive(Module, Debug)]
    struct Point {
        at: Param<Tensor<1>>,
        still: Param<Tensor<1>>,
    }

    fn point() -> Point {
        let device = Device::flex().autodiff();
        let tensor = |values: [f32; 3]| Tensor::from_data(values, &device).require_grad();
        Point {
            at: Param::initialized(ParamId::new(), tensor([1.0, -2.0, 0.5])),
            still: Param::initialized(ParamId::new(), tensor([7.0; 3])),
        }
    }

    /// The gradient of Σ (w − 3)² · [1, 2, 4]; `still` has none.
    fn gradients(point: &Point) -> GradientsParams {
        let scale = Tensor::from_data([1.0f32, 2.0, 4.0], &Device::flex().autodiff());
        let loss = ((point.at.val() - 3.0).square() * scale).sum();
        GradientsParams::from_grads(loss.backward(), point)
    }

    fn values(point: &Point) -> Vec<f32> {
        point.at.val().inner().into_data().try_to_vec().unwrap()
    }

    fn near(a: &[f32], b: &[f32]) {
        assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-5), "{a:?} against {b:?}");
    }

    #[test]
    fn adam_agrees_with_burn_and_leaves_alone_what_has_no_gradient() {
        let (mut ours, mut theirs) = (point(), point());
        let mut descent = Descent::new(Optimiser::Adam(Adam { weight_decay: 0.01, ..Adam::default() }));
        let mut burn = AdamConfig::new()
            .with_epsilon(1e-8)
            .with_weight_decay(Some(burn::optim::decay::WeightDecayConfig::new(0.01)))
            .init();
        for _ in 0..20 {
            let (a, b) = (gradients(&ours), gradients(&theirs));
            ours = descent.step(ours, a, 0.05, 0.9);
            theirs = burn.step(0.05, theirs, b);
        }
        near(&values(&ours), &values(&theirs));
        assert_eq!(ours.still.val().inner().into_data().try_to_vec::<f32>().unwrap(), [7.0; 3]);
    }

    #[test]
    fn adam_agrees_with_pytorch_when_beta1_changes_on_the_way() {
        // import torch; w = torch.tensor([1., -2., .5], requires_grad=True); o = torch.optim.Adam([w], lr=.05)
        // for i in range(6):
        //     if i == 3: o.param_groups[0]['betas'] = (.1, .999)
        //     o.zero_grad(); (((w - 3) ** 2) * torch.tensor([1., 2., 4.])).sum().backward(); o.step()
        // print(w.tolist())
        let mut point = point();
        let mut descent = Descent::new(Optimiser::default());
        for step in 0..6 {
            let gradients = gradients(&point);
            point = descent.step(point, gradients, 0.05, if step < 3 { 0.9 } else { 0.1 });
        }
        near(&values(&point), &PYTORCH_ADAM);
    }
    const PYTORCH_ADAM: [f32; 3] = [1.288_586_3, -1.706_899_8, 0.790_121_7];

    #[test]
    fn sgd_agrees_with_burn() {
        for nesterov in [false, true] {
            let (mut ours, mut theirs) = (point(), point());
            let rule = Sgd { lr: 0.02, momentum: 0.9, weight_decay: 0.0, nesterov };
            let mut descent = Descent::new(Optimiser::Sgd(rule));
            let momentum = MomentumConfig::new().with_dampening(0.0).with_nesterov(nesterov);
            let mut burn = SgdConfig::new().with_momentum(Some(momentum)).init();
            for _ in 0..10 {
                let (a, b) = (gradients(&ours), gradients(&theirs));
                ours = descent.step(ours, a, 0.02, 0.0);
                theirs = burn.step(0.02, theirs, b);
            }
            near(&values(&ours), &values(&theirs));
        }
    }

    #[test]
    fn continuing_from_what_is_remembered_gives_the_same_bits() {
        for rule in [Optimiser::default(), Optimiser::Sgd(Sgd::default())] {
            let mut module = point();
            let mut descent = Descent::new(rule.clone());
            for _ in 0..3 {
                let gradients = gradients(&module);
                module = descent.step(module, gradients, 0.01, 0.9);
            }
            let (steps, moments) = descent.remembered();
            let mut again = Descent::new(rule);
            again.remember(steps, moments, &module, &Device::flex().autodiff()).unwrap();
            let (a, b) = (gradients(&module), gradients(&module));
            let one = descent.step(module.clone(), a, 0.01, 0.9);
            let two = again.step(module, b, 0.01, 0.9);
            assert_eq!(values(&one), values(&two));
            assert_eq!(descent.remembered(), again.remembered());
        }
    }

    #[test]
    fn moments_of_another_rule_or_module_are_refused() {
        let device = Device::flex().autodiff();
        let say = |rule: Optimiser, moments: Vec<Vec<f32>>| {
            let mut descent = Descent::new(rule);
            descent.remember(1, moments, &point(), &device).unwrap_err().to_string()
        };
        let (three, none) = (vec![0.5; 3], Vec::new());
        let adam = || Optimiser::default();
        assert!(say(adam(), vec![three.clone(), vec![0.5; 2]]).contains("parameter 0 must have 3 and 3"));
        assert!(say(adam(), vec![three.clone(), none.clone()]).contains("got 3 and 0"));
        assert!(say(adam(), vec![none.clone(), none.clone(), vec![0.5; 4], vec![0.5; 4]]).contains("parameter 1"));
        assert!(say(adam(), vec![three.clone(); 6]).contains("two for each of 2 parameters, got 6"));
        assert!(say(adam(), vec![three.clone(); 3]).contains("got 3"));
        assert!(say(adam(), vec![three.clone(), vec![0.5, -0.5, 0.5]]).contains("at least 0"));
        assert!(say(adam(), vec![vec![f32::NAN; 3], three.clone()]).contains("finite"));
        let sgd = Optimiser::Sgd(Sgd::default());
        assert!(say(sgd.clone(), vec![three.clone(), three.clone()]).contains("3 and 0 numbers, got 3 and 3"));
        assert!(
            Descent::new(sgd).remember(1, vec![three, none.clone(), none.clone(), none], &point(), &device).is_ok()
        );
    }
}
