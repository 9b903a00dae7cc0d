"""Audits of tables that live in a Spark cluster.

>>> import tares.spark
>>> found = tares.spark.audit(df, label="label", probs="probs", id="id")     # doctest: +SKIP
>>> found.suspects.orderBy("score").show()                                   # doctest: +SKIP
>>> found.noise_rate, found.transition                                       # doctest: +SKIP

A sample of the rows is drawn on the cluster, by a hash of the ids; a model of the noise is fitted to it on the driver and sent to the
executors, which judge every row with the Rust core. Only the sample and counts come to the driver. The same rows give the same
suspects, scores and rate, whatever the number of partitions and executors, and the same as ``tares audit --id-column`` on one machine.

Parquet files that every executor can open under the same name are audited several times faster without Spark's own reader:

>>> found = tares.spark.audit_files(spark, "lake", label="label", id="id")   # doctest: +SKIP

``pip install 'tares[spark]'`` on the driver and on the executors.
"""

from tares.spark._audit import SparkAudit, audit
from tares.spark._files import audit_files

__all__ = ["SparkAudit", "audit", "audit_files"]
