//! Standard: the mean cross-entropy of all rows.

use crate::error::Result;
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::Run;

pub(crate) fn train<N: Classifier>(run: &mut Run<'_, N>) -> Result<Vec<N>> {
    let mut learner = run.learner("weights")?;
    while let Some(epoch) = run.next_epoch() {
        for batch in run.batches(epoch) {
            run.begin_step();
            let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
            run.see(&batch, &logits)?;
            run.keep_all(&batch);
            let loss = cross_entropy(logits, batch.targets).mean();
            learner = run.step(learner, loss, "cross-entropy")?;
        }
        run.end_epoch(&[&learner], &|_| Ok(()))?;
    }
    Ok(vec![learner.network])
}
