use super::*;
use burn::tensor::Device;
use tares_core::stream;

#[test]
fn sharpness_rises_from_one_after_the_burn_in() {
    let config = MemoryLossConfig::new(20);
    assert_eq!(config.burn_in_epochs(), 6);
    assert_eq!([0, 3, 6, 13].map(|epochs| config.sharpness_after(epochs)), [1.0, 1.5, 2.0, 2.0]);
    assert_eq!([1, 2, 10, 60].map(|epochs| MemoryLossConfig::new(epochs).burn_in_epochs()), [1, 1, 3, 18]);
    assert!((0..3).all(|epochs| MemoryLossConfig::new(1).sharpness_after(epochs).is_finite()));
}

#[test]
fn the_burn_in_is_plain_cross_entropy_and_afterwards_the_gradient_is_p_minus_q() {
    let device = Device::flex().autodiff();
    let given = [0, 0, 0, 1, 1, 1, 1];
    let rows: [[f32; 2]; 7] = [[3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0], [0.0, 3.0]];
    let config = MemoryLossConfig { hidden: 0.0, ..MemoryLossConfig::new(4) };
    let mut loss = config.init(&given, 2).unwrap();
    for epoch in 0..4 {
        loss.begin_epoch(epoch).unwrap();
        let logits = Tensor::<2>::from_floats(rows, &device).require_grad();
        let value = loss.forward(logits.clone(), &[0, 1, 2, 3, 4, 5, 6]);
        let slopes = to_host(logits.grad(&value.backward()).unwrap());
        let beliefs = loss.beliefs();
        for (place, slope) in slopes.iter().enumerate() {
            let odds = (rows[place / 2][1 - place % 2] - rows[place / 2][place % 2]).exp();
            let expected = (1.0 / (1.0 + odds) - beliefs[place]) / 7.0;
            assert!((slope - expected).abs() < 1e-6, "epoch {epoch}, {place}: {slope} against {expected}");
        }
        assert_eq!(loss.rate() == 0.0, epoch == 0, "epoch {epoch}");
    }
    assert!(!loss.believes(3) && loss.believes(2) && (loss.rate() - 1.0 / 7.0).abs() < 0.1, "{}", loss.rate());
    let mut again = config.init(&given, 2).unwrap().with_state(loss.memory().sums().to_vec(), loss.burn_in()).unwrap();
    again.begin_epoch(4).unwrap();
    loss.begin_epoch(4).unwrap();
    assert_eq!(again, loss);
}

#[test]
fn hidden_rows_have_no_gradient_in_the_burn_in_and_end_it_once_labels_are_memorised() {
    let device = Device::flex().autodiff();
    let given: Vec<Label> = (0..200).map(|row| row % 2).collect();
    let all: Vec<u32> = (0..200).collect();
    let mut loss = MemoryLossConfig::new(20).init(&given, 2).unwrap();
    assert_eq!(loss.hidden.iter().filter(|&&hidden| hidden).count(), 20);
    // Visible labels are repeated, hidden ones are answered with class 0.
    let rows: Vec<f32> =
        (0..200).flat_map(|row| if loss.hidden[row] || row % 2 == 0 { [2.0, 0.0] } else { [0.0, 2.0] }).collect();
    loss.begin_epoch(0).unwrap();
    let logits = Tensor::<2>::from_data(TensorData::new(rows, [200, 2]), &device).require_grad();
    let value = loss.forward(logits.clone(), &all);
    let slopes = to_host(logits.grad(&value.backward()).unwrap());
    for (row, slope) in slopes.chunks_exact(2).enumerate() {
        assert_eq!(slope[0].abs() < 1e-7, loss.hidden[row], "row {row}: {slope:?}");
        assert!(loss.believes(row));
    }
    loss.begin_epoch(1).unwrap();
    let wrong = (0..200).filter(|&row| loss.hidden[row] && row % 2 == 1).count().min(10) as f64;
    let burn_in = loss.burn_in().expect("memorised");
    assert!(burn_in.epochs == 1 && burn_in.disagreement <= (wrong + 0.5) / 11.0, "{burn_in:?}");
    assert!((0..200).all(|row| !loss.hides(row)));
    // The mistakes are scaled to what the hidden rows showed: the visible ones alone show none.
    let fixed = MemoryLossConfig { hidden: 0.0, ..MemoryLossConfig::new(20) }.init(&given, 2).unwrap();
    let mut fixed = fixed.with_state(loss.memory().sums().to_vec(), None).unwrap();
    fixed.begin_epoch(1).unwrap();
    assert_eq!(fixed.burn_in(), None, "without hidden rows its length is fixed");
    fixed.begin_epoch(6).unwrap();
    assert_eq!(fixed.burn_in(), Some(BurnIn { epochs: 6, disagreement: 0.0 }));
    let off = |loss: &MemoryLoss| loss.mistakes.as_ref().unwrap().at(0, 1);
    assert!(off(&loss) > off(&fixed), "{} against {}", off(&loss), off(&fixed));
}

#[test]
fn refuses_what_is_outside_its_domain() {
    let said = |config: MemoryLossConfig| config.init(&[0, 1], 2).unwrap_err().to_string();
    let fine = MemoryLossConfig::new(10);
    assert_eq!(said(MemoryLossConfig { beta: 1.0, ..fine }), "beta of a memory must be in [0, 1), got 1");
    assert!(said(MemoryLossConfig { sharpness: 0.5, ..fine }).contains("at least 1, got 0.5"));
    assert!(said(MemoryLossConfig { surest: 0.0, ..fine }).contains("in (0, 1], got 0"));
    assert!(said(MemoryLossConfig { burn_in: 1.5, ..fine }).contains("burn-in of a memory"));
    assert!(said(MemoryLossConfig { rise: f64::NAN, ..fine }).contains("rise of a memory"));
    assert!(said(MemoryLossConfig { known: -0.5, ..fine }).contains("known of a memory must be a fraction in [0, 1]"));
    assert!(said(MemoryLossConfig { decide: 2.0, ..fine }).contains("decide of a memory"));
    assert!(said(MemoryLossConfig { hidden: 1.0, ..fine }).contains("hidden of a memory"));
    assert!(fine.init(&[0, 2], 2).unwrap_err().to_string().contains("label must be below 2, got 2"));
    let loss = || fine.init(&[0, 1], 2).unwrap();
    assert!(loss().with_state(vec![0.0; 3], None).is_err());
    let burn_in = Some(BurnIn { epochs: 1, disagreement: 2.0 });
    assert!(loss().with_state(vec![0.0; 4], burn_in).unwrap_err().to_string().contains("in [0, 1], got 2"));
}

/// 1,000 rows of four classes; the answers of a network that has not memorised any label. Row i has class i % 4 and is the harder, the
/// larger i / 1000 is: `right(hardness)` is how likely the answer is right.
fn answers(right: impl Fn(f32) -> f32) -> Vec<f32> {
    let mut random = stream(3, "answers");
    let answer = |row: usize| {
        let hardness = row as f32 / 1000.0;
        let answered = if random.unit() < f64::from(right(hardness)) { row % 4 } else { (row + 1) % 4 };
        (0..4).map(move |class| if class == answered { 0.9 - 0.5 * hardness } else { (0.1 + 0.5 * hardness) / 3.0 })
    };
    (0..1000).flat_map(answer).collect()
}

/// The state of the loss after it has seen these answers in each of `epochs` epochs of ten.
fn after(epochs: usize, answers: &[f32], given: &[Label]) -> MemoryLoss {
    let mut loss = MemoryLossConfig::new(10).init(given, 4).unwrap();
    let all: Vec<u32> = (0..1000).collect();
    for epoch in 0..epochs {
        loss.begin_epoch(epoch).unwrap();
        loss.learn(answers.to_vec(), &all);
    }
    loss.begin_epoch(epochs).unwrap();
    loss
}

#[test]
fn hard_rows_keep_their_labels_and_wrong_labels_of_easy_rows_do_not() {
    let truth: Vec<Label> = (0..1000).map(|row| row % 4).collect();
    // All labels are right, and the network errs on two thirds of the harder rows.
    let hard = answers(|hardness| if hardness < 0.3 { 0.95 } else { 0.33 });
    for epochs in 1..=10 {
        let loss = after(epochs, &hard, &truth);
        assert!(loss.burn_in().is_none() && loss.rate() == 0.0, "{epochs}: {:?}", loss.burn_in());
        assert_eq!((0..1000).any(|row| loss.hides(row)), epochs < 6, "learnt from when it is decided: {epochs}");
    }
    // The network knows all rows, and 30 % of the labels are wrong.
    let mut random = stream(4, "labels");
    let given: Vec<Label> =
        truth.iter().map(|&truth| if random.unit() < 0.3 { (truth + 2) % 4 } else { truth }).collect();
    let wrong = given.iter().zip(&truth).filter(|(given, truth)| given != truth).count() as f64 / 1000.0;
    let loss = after(10, &answers(|_| 1.0), &given);
    assert_eq!(loss.burn_in().unwrap().epochs, 3);
    assert!((loss.rate() - wrong).abs() < 0.06, "{} against {wrong}", loss.rate());
    assert!((0..1000).all(|row| loss.believes(row) == (given[row] == truth[row])));
}

#[test]
fn few_rows_are_never_corrected_and_none_of_them_is_hidden() {
    let given: Vec<Label> = (0..399).map(|row| row % 4).collect();
    let mut loss = MemoryLossConfig::new(10).init(&given, 4).unwrap(); // 39 hidden rows for four classes
    let contradiction: Vec<f32> = given
        .iter()
        .flat_map(|&label| (0..4).map(move |class| if class == (label + 1) % 4 { 0.97 } else { 0.01 }))
        .collect();
    let all: Vec<u32> = (0..399).collect();
    for epoch in 0..10 {
        loss.begin_epoch(epoch).unwrap();
        assert!((0..399).all(|row| !loss.hides(row) && loss.believes(row)), "epoch {epoch}");
        loss.learn(contradiction.clone(), &all);
    }
}

#[test]
fn a_training_that_goes_on_decides_as_one_without_a_break() {
    let truth: Vec<Label> = (0..1000).map(|row| row % 4).collect();
    for right in [0.33, 1.0] {
        let seen = answers(|hardness| if hardness < 0.3 { 0.95 } else { right });
        for epochs in 1..10 {
            let before = after(epochs, &seen, &truth);
            let again = MemoryLossConfig::new(10).init(&truth, 4).unwrap();
            let mut again = again.with_state(before.memory().sums().to_vec(), before.burn_in()).unwrap();
            again.begin_epoch(epochs).unwrap();
            assert_eq!(again, before, "right {right}, after {epochs} epochs");
        }
    }
}

#[test]
fn it_says_why_no_label_is_corrected() {
    let few: Vec<Label> = (0..399).map(|row| row % 4).collect();
    assert_eq!(MemoryLossConfig::new(10).init(&few, 4).unwrap().doubt(), Some(Doubt::FewRows));
    let truth: Vec<Label> = (0..1000).map(|row| row % 4).collect();
    let hard = answers(|hardness| if hardness < 0.3 { 0.95 } else { 0.33 });
    assert_eq!(after(10, &hard, &truth).doubt(), Some(Doubt::KnowsTooLittle));
    assert_eq!(after(10, &answers(|_| 1.0), &truth).doubt(), None);
}
