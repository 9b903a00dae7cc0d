//! What a person should know before trusting an answer: one plain sentence each, with what to do about it.

use super::check::LEAST_SKILL;
use super::{Estimate, Overview};

/// A rate this much above the disagreement, and by this factor, cannot come from the labels alone.
const FAR_ABOVE: f64 = 0.05;
const FAR_ABOVE_FACTOR: f64 = 1.2;
/// A classifier with less skill than this may be wrong as often as the labels; with an interval this wide, the two cannot be distinguished.
const SKILL_TO_DECIDE: f64 = 0.5;
const WIDE_INTERVAL: f64 = 0.25;
/// Classes named in one sentence; the others are counted.
const MOST_NAMED: usize = 10;
/// More emptied classes than this share one sentence.
const MOST_EMPTIED: usize = 5;

/// A reason not to trust an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Caution {
    /// The probabilities look like those of a model on the rows it was trained on.
    InSample {
        /// The part of labels that equal the first choice.
        agreement: f64,
        /// Mean of the largest probability.
        confidence: f64,
    },
    /// The classifier is hardly better than always naming the largest class.
    WeakJudge {
        /// The part of labels that equal the first choice.
        agreement: f64,
        /// The part of labels that name the largest class.
        largest_share: f64,
    },
    /// More labels are said to be wrong than the classifier disagrees with.
    AboveDisagreement {
        /// The estimated part of wrong labels.
        rate: f64,
        /// The part of labels that are not the first choice.
        disagreement: f64,
    },
    /// Wrong labels and rows that are hard for the classifier look alike here.
    Undecided {
        /// The part of labels that are not the first choice.
        disagreement: f64,
        /// The interval of the estimated rate.
        interval: (f64, f64),
    },
    /// No row has these labels.
    WithoutRows(Vec<usize>),
    /// So many classes have a handful of rows.
    FewRows(usize),
    /// Taking all suggestions would leave a class with less than half of its rows.
    Emptied {
        /// The class.
        class: usize,
        /// Rows with its label.
        rows: usize,
        /// Suspects among them.
        suspects: usize,
    },
    /// The same of many classes: class, rows and suspects of each.
    ManyEmptied(Vec<(usize, usize, usize)>),
    /// Rows that look like wrong labels, but more of them than the surest rows confirm.
    MerelyHard {
        /// Suspects that were taken off the list.
        left_out: usize,
        /// The rate that the surest rows confirm.
        rate: f64,
    },
    /// Rows with equal inputs, which were held out together.
    Copies {
        /// Rows that have an earlier row with equal inputs.
        rows: usize,
        /// Groups of equal rows whose labels differ.
        contradictions: usize,
    },
    /// A single column is enough to tell nearly all labels.
    GivenAway {
        /// Its name.
        column: String,
        /// The part of labels that it tells.
        agreement: f64,
    },
    /// Judges that saw none of the rows they judged agree with nearly all labels.
    HardlyAnyDoubt {
        /// The part of labels that equal the first choice.
        agreement: f64,
    },
}

impl Caution {
    /// What the overview and the estimate give reason for.
    pub fn about(overview: &Overview, estimate: &Estimate) -> Vec<Self> {
        let mut found = Vec::new();
        let (agreement, disagreement) = (1.0 - overview.disagreement(), overview.disagreement());
        // A model knows the labels it was trained on: it agrees with nearly all of them and is nearly certain of it.
        if overview.rows >= 100 && disagreement < 0.002 && overview.confidence > 0.99 {
            found.push(Self::InSample { agreement, confidence: overview.confidence });
        }
        // One class given alone says nothing about the classifier.
        if overview.counts.iter().filter(|&&count| count > 0).count() > 1 {
            if let Some(weak) = Self::weak(overview) {
                found.push(weak);
            } else if estimate.rate > (disagreement + FAR_ABOVE).max(FAR_ABOVE_FACTOR * disagreement) {
                found.push(Self::AboveDisagreement { rate: estimate.rate, disagreement });
            } else if overview.skill() < SKILL_TO_DECIDE && estimate.interval.1 - estimate.interval.0 > WIDE_INTERVAL {
                found.push(Self::Undecided { disagreement, interval: estimate.interval });
            }
        }
        let empty: Vec<usize> = (0..overview.counts.len()).filter(|&class| overview.counts[class] == 0).collect();
        if !empty.is_empty() {
            found.push(Self::WithoutRows(empty));
        }
        let few = overview.counts.iter().filter(|&&count| (1..5).contains(&count)).count();
        if few > 0 {
            found.push(Self::FewRows(few));
        }
        found
    }

    /// A classifier that is hardly better than always naming the largest class, if it is one.
    pub fn weak(overview: &Overview) -> Option<Self> {
        let (agreement, largest_share) = (1.0 - overview.disagreement(), overview.largest_share());
        (overview.skill() < LEAST_SKILL).then_some(Self::WeakJudge { agreement, largest_share })
    }

    /// Said of judges that saw none of the rows they judged, where their full agreement is no sign of having seen them.
    pub fn hardly_any_doubt(overview: &Overview) -> Option<Self> {
        // Rows of one class alone are no question.
        let asked = overview.counts.iter().filter(|&&count| count > 0).count() > 1;
        let disagreement = overview.disagreement();
        (asked && overview.rows >= 100 && disagreement <= 0.002)
            .then_some(Self::HardlyAnyDoubt { agreement: 1.0 - disagreement })
    }

    /// The classes that would lose more than half of their rows; `classes` is (rows, suspects) per class.
    pub fn emptied(classes: impl IntoIterator<Item = (usize, usize)>) -> Vec<Self> {
        let losing = classes.into_iter().enumerate().filter(|(_, (rows, suspects))| 2 * suspects > *rows);
        let losing: Vec<(usize, usize, usize)> =
            losing.map(|(class, (rows, suspects))| (class, rows, suspects)).collect();
        if losing.len() > MOST_EMPTIED {
            return vec![Self::ManyEmptied(losing)];
        }
        losing.into_iter().map(|(class, rows, suspects)| Self::Emptied { class, rows, suspects }).collect()
    }

    /// Whether neither rate nor suspects can be relied on.
    pub fn is_about_the_judge(&self) -> bool {
        matches!(self, Self::InSample { .. } | Self::WeakJudge { .. } | Self::AboveDisagreement { .. })
    }

    /// Whether the rate cannot be relied on: also where it cannot be told from the judge's own mistakes.
    pub fn is_about_the_rate(&self) -> bool {
        self.is_about_the_judge() || matches!(self, Self::Undecided { .. } | Self::GivenAway { .. })
    }

    /// One sentence; `name` is what a class is called.
    pub fn sentence(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            Self::InSample { agreement, confidence } => format!(
                "the predictions equal {:.2} % of the labels with a mean confidence of {confidence:.4}: they look like \
                 predictions on the rows the model was trained on, which cannot show wrong labels; use out-of-sample \
                 probabilities (k-fold)",
                100.0 * agreement
            ),
            Self::WeakJudge { agreement, largest_share } => format!(
                "the predictions equal {:.1} % of the labels, and always naming the largest class would equal {:.1} %: \
                 the model knows too little to judge these labels, so neither the noise rate nor the suspects can be \
                 trusted; train it longer, try another network or better features, or bring a better model's probabilities",
                100.0 * agreement,
                100.0 * largest_share
            ),
            Self::AboveDisagreement { rate, disagreement } => format!(
                "the estimated noise rate of {:.1} % is above the {:.1} % of labels the predictions disagree with: the model \
                 has learnt wrong labels or is too unsure, so the rate cannot be trusted; try fewer epochs or another network, \
                 or bring a better model's probabilities",
                100.0 * rate,
                100.0 * disagreement
            ),
            Self::Undecided { disagreement, interval: (low, high) } => format!(
                "the predictions disagree with {:.1} % of the labels, and it cannot be told how many of these labels are wrong and \
                 how many rows are merely hard for the model: the noise rate may be anything from {:.1} to {:.1} %; look at some \
                 suspects before you trust them, or bring a better model's probabilities",
                100.0 * disagreement,
                100.0 * low,
                100.0 * high
            ),
            Self::WithoutRows(classes) => {
                let shown: Vec<String> = classes.iter().take(MOST_NAMED).map(|&class| name(class)).collect();
                let more = match classes.len().saturating_sub(MOST_NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let shown = shown.join(", ");
                format!("no row has the given label {shown}{more}: nothing can be said about these classes")
            }
            Self::FewRows(1) => "1 class has fewer than 5 rows: its suspects are guesses".to_owned(),
            Self::FewRows(classes) => format!("{classes} classes have fewer than 5 rows: their suspects are guesses"),
            Self::Emptied { class, rows: 1, .. } => format!(
                "the only row labelled '{}' is a suspect: taking the suggestion would leave this class without a row; the \
                 model may simply not know the class, so look at the row before changing it",
                name(*class)
            ),
            Self::Emptied { class, rows, suspects } => format!(
                "{suspects} of the {rows} rows labelled '{}' are suspects: taking all suggestions would leave this class \
                 with less than half of its rows; the model may simply not know the class, so look at these rows before \
                 changing any",
                name(*class)
            ),
            Self::ManyEmptied(classes) => {
                let shown = classes.iter().take(MOST_EMPTIED);
                let shown: Vec<String> =
                    shown.map(|&(class, rows, suspects)| format!("'{}' ({suspects} of {rows})", name(class))).collect();
                format!(
                    "{} classes have more suspects than other rows, such as {}: taking all suggestions would leave them \
                     with less than half of their rows; the model may simply not know these classes, so look at their rows \
                     before changing any",
                    classes.len(),
                    shown.join(", ")
                )
            }
            Self::MerelyHard { left_out, rate } => format!(
                "{left_out} more labels are doubtful, but where the model is surest only {:.1} % of the labels are wrong: they are \
                 probably rows that are hard for the model, and are not listed",
                100.0 * rate
            ),
            Self::Copies { rows, contradictions } => {
                let are = if *rows == 1 { "row is a copy of another" } else { "rows are copies of others" };
                let differ = match contradictions {
                    0 => String::new(),
                    _ => format!(
                        "; in {contradictions} of these groups the labels differ: at least one of them is wrong, or the inputs do not \
                         tell such rows apart"
                    ),
                };
                format!("{rows} {are} (equal inputs): copies are judged by models that saw none of them{differ}")
            }
            Self::GivenAway { column, agreement } => format!(
                "column \"{column}\" alone tells {:.1} % of the labels: it may be a copy of the label, or made from it or from the \
                 order of the file, and then no wrong label can be found; unless it is a measurement, take it out of the data or \
                 name it with --id-column",
                100.0 * agreement
            ),
            Self::HardlyAnyDoubt { agreement } => format!(
                "the judges predict {:.2} % of the labels of rows that they have not seen, which is rare in real data: either the \
                 labels are clean and easy to predict, or something in the rows tells them",
                100.0 * agreement
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Transition;

    fn overview(counts: Vec<usize>, disagreements: usize, confidence: f64) -> Overview {
        let rows = counts.iter().sum();
        Overview { rows, self_confidence: vec![None; counts.len()], disagreements, confidence, counts }
    }

    fn about(overview: &Overview, rate: f64) -> Vec<Caution> {
        let estimate = Estimate::counted(rate, overview.rows, Transition::identity(overview.counts.len()).unwrap());
        Caution::about(overview, &estimate)
    }

    #[test]
    fn a_judge_hardly_better_than_the_largest_class_is_called_weak() {
        // 260 rare rows among 11,183, all mistaken for the common class.
        let weak = about(&overview(vec![10_923, 260], 260, 0.98), 0.0);
        assert!(weak[0].is_about_the_judge(), "{weak:?}");
        let said = weak[0].sentence(|class| class.to_string());
        assert!(said.contains("97.7 %") && said.contains("can be trusted"), "{said}");
        // The same labels, three of four rare rows recognised.
        assert_eq!(about(&overview(vec![10_923, 260], 65, 0.98), 0.005), []);
        // A tenth of the labels of ten classes wrong, and a good judge.
        assert_eq!(about(&overview(vec![100; 10], 120, 0.9), 0.1), []);
    }

    #[test]
    fn a_rate_far_above_the_disagreement_is_doubted() {
        let given = overview(vec![100; 10], 200, 0.9);
        assert!(matches!(about(&given, 0.63)[..], [Caution::AboveDisagreement { .. }]));
        assert_eq!(about(&given, 0.22), []);
    }

    #[test]
    fn a_wide_interval_of_a_middling_judge_is_said() {
        let (given, rate) = (overview(vec![629, 333, 511], 660, 0.5), 0.42);
        let mut estimate = Estimate::counted(rate, given.rows, Transition::identity(3).unwrap());
        assert_eq!(Caution::about(&given, &estimate), []);
        estimate.interval = (0.15, 0.47);
        let found = Caution::about(&given, &estimate);
        assert!(matches!(found[..], [Caution::Undecided { .. }]), "{found:?}");
        let said = found[0].sentence(|class| class.to_string());
        assert!(said.contains("from 15.0 to 47.0 %") && said.contains("look at some suspects"), "{said}");
    }

    #[test]
    fn a_class_is_emptied_by_more_than_half_of_its_rows() {
        let found = Caution::emptied([(100, 50), (100, 51), (0, 0), (1, 1)]);
        assert_eq!(
            found,
            [
                Caution::Emptied { class: 1, rows: 100, suspects: 51 },
                Caution::Emptied { class: 3, rows: 1, suspects: 1 }
            ]
        );
        let said = found[0].sentence(|_| "cat".to_owned());
        assert!(said.contains("51 of the 100 rows labelled 'cat'"), "{said}");
        assert!(found[1].sentence(|_| "cow".to_owned()).starts_with("the only row labelled 'cow' is a suspect"));
    }

    #[test]
    fn many_emptied_classes_share_a_sentence() {
        let found = Caution::emptied((0..190).map(|_| (2, 2)));
        assert_eq!(found.len(), 1);
        let said = found[0].sentence(|class| class.to_string());
        assert!(
            said.starts_with("190 classes have more suspects than other rows, such as '0' (2 of 2), '1' (2 of 2),"),
            "{said}"
        );
        assert!(said.len() < 300, "{said}");
    }

    #[test]
    fn classes_without_rows_are_named() {
        let found = about(&overview(vec![50, 0, 50], 5, 0.9), 0.0);
        let said = found[0].sentence(|class| ["cat", "dog", "cow"][class].to_owned());
        assert!(said.contains("given label dog:"), "{said}");
    }

    #[test]
    fn in_sample_probabilities_are_suspected() {
        let found = about(&overview(vec![100, 100], 0, 0.999), 0.0);
        assert!(matches!(found[0], Caution::InSample { .. }));
        assert!(found[0].sentence(|class| class.to_string()).contains("trained on"));
    }
}
