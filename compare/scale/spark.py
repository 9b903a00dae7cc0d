"""compare/scale/spark.py FOLDER PROGRAM [TURNS]: tares.spark on two executors of this machine beside the program on both cores, alternately, on
FOLDER/lake: `audit` of a table that Spark reads, `audit_files` of files that executors read.

Prints the seconds of each, without the start of the JVM: a first audit of a part of the rows warms it up.
"""

import glob
import os
import subprocess
import sys
import time

from pyspark.sql import SparkSession

os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
spark = (
    SparkSession.builder.master("local-cluster[2,1,2048]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .config("spark.executor.memory", "2g")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
import tares.spark  # noqa: E402

folder, program = sys.argv[1], sys.argv[2]
columns = [f"p{k}" for k in range(10)]
frame = spark.read.parquet(f"{folder}/lake")
tares.spark.audit(frame.limit(200_000), probs=columns).unpersist()
tares.spark.audit_files(spark, sorted(glob.glob(f"{folder}/lake/*"))[:2]).unpersist()
for turn in range(int(sys.argv[3]) if len(sys.argv) > 3 else 2):
    begun = time.monotonic()
    found = tares.spark.audit(frame, probs=columns)
    print(f"spark    {time.monotonic() - begun:6.1f} s  noise rate {found.noise_rate!r}", flush=True)
    found.unpersist()
    begun = time.monotonic()
    found = tares.spark.audit_files(spark, f"{folder}/lake")
    took = time.monotonic() - begun
    suspects = found.suspects.count()
    print(f"files    {took:6.1f} s, {time.monotonic() - begun:.1f} with {suspects} suspects as rows  noise rate {found.noise_rate!r}", flush=True)
    found.unpersist()
    begun = time.monotonic()
    arguments = ["audit", f"{folder}/lake", "--id-column", "id", "--out", f"{folder}/audit", "--exit-zero", "--quiet"]
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
    print(f"program  {time.monotonic() - begun:6.1f} s", flush=True)
spark.stop()
