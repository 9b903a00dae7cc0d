//! Refuses options that the chosen kind of audit would ignore, so that nobody believes they had an effect.

use super::Audit;
use crate::ui::failure::{Failure, Outcome};
use std::fmt;

/// What an audit judges labels by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Probabilities (`--probs`) of labels in a file (`--labels`).
    Labels,
    /// Tables of labels and probabilities.
    Tables,
    /// Probabilities (`--probs`) of data that was named.
    Rows,
    /// Judges that are trained on folds of the data.
    Data,
    /// The history of a finished run.
    Run,
}

use Kind::{Data, Labels, Rows, Run, Tables};

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Labels => "an audit of --labels with --probs",
            Tables => "an audit of tables of labels and probabilities",
            Rows => "an audit of data with --probs",
            Data => "an audit of data",
            Run => "an audit of a finished run",
        })
    }
}

impl Audit {
    fn kind(&self) -> Kind {
        match (self.probs.is_empty(), self.data.is_empty()) {
            _ if self.tables().is_some() => Tables,
            (false, true) => Labels,
            (false, false) => Rows,
            _ if self.is_of_run() => Run,
            _ => Data,
        }
    }

    /// Options that some kinds of audit ignore: the kinds that use them, and which of them were typed.
    fn partial_options(&self) -> Vec<(&'static [Kind], Vec<&'static str>)> {
        let typed = |name: &'static str, typed: bool| if typed { vec![name] } else { Vec::new() };
        let (labels, test) = (["--label", "--labels"], ["--test", "--test-fraction"]);
        let reading =
            |wanted: &dyn Fn(&&'static str) -> bool| self.reading.typed().into_iter().filter(wanted).collect();
        vec![
            (&[Data], self.training.typed()),
            (&[Data], self.features.typed()),
            (&[Data], typed("--judges", !self.judges.is_empty())),
            (&[Data], typed("--folds", self.folds.is_some())),
            (&[Data], typed("--train-method", self.train_method.is_some())),
            (&[Data], typed("--resume", self.resume)),
            (&[Labels, Tables, Rows], typed("--normalise", self.normalise)),
            (&[Tables], typed("--missing", self.missing.is_some())),
            (&[Tables], typed("--sample-seed", self.sample_seed.is_some())),
            (&[Labels, Tables, Rows, Data], typed("--method", self.method.is_some())),
            (&[Labels, Tables, Rows, Data], typed("--rank", self.rank.is_some())),
            (&[Labels, Tables, Rows, Data], reading(&|name| name == &"--label")),
            (&[Labels, Rows, Data], reading(&|name| name == &"--labels")),
            (&[Tables, Rows, Data], reading(&|name| name == &"--id-column")),
            (&[Rows, Data], reading(&|name| !labels.contains(name) && !test.contains(name) && name != &"--id-column")),
            // All rows are audited; none is set aside.
            (&[], reading(&|name| test.contains(name))),
        ]
    }

    /// # Errors
    /// An option was typed that this kind of audit ignores.
    pub(super) fn refuse_idle_options(&self) -> Outcome<()> {
        let kind = self.kind();
        for (kinds, typed) in self.partial_options() {
            if let Some(name) = typed.first().filter(|_| !kinds.contains(&kind)) {
                let used = match kinds {
                    [] => "leave it out: an audit sets no rows aside".to_owned(),
                    [others @ .., last] => {
                        let others: String = others.iter().map(|kind| format!("{kind}, ")).collect();
                        format!(
                            "leave it out; it has an effect in {others}{}{last}",
                            if others.is_empty() { "" } else { "or " }
                        )
                    }
                };
                return Err(Failure::new(format!("{name} has no effect in {kind}")).way_out(used));
            }
        }
        Ok(())
    }
}
