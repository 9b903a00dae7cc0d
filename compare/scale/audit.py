"""compare/scale/audit.py FOLDER PROGRAM [TURNS]: `tares audit` of FOLDER (made by make.py) beside `cat` and pyarrow's decoding, alternately.

Prints a line of CSV for each: seconds, processor seconds (user and system, of all threads) and peak memory in MB. Audits write their lists into
FOLDER/audit. The decoder reads row groups one after the other, all columns, on both cores, and keeps nothing.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

DECODE = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        file.read_row_group(group)
"""


def run(command: list[str]) -> tuple[float, float, float]:
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    folder, program = Path(sys.argv[1]), sys.argv[2]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    lake = sorted(map(str, (folder / "lake").glob("*.parquet")))
    rows = (os.path.getsize(folder / "y.npy") - 128) // 4
    audit = [program, "audit", "--out", str(folder / "audit"), "--exit-zero", "--quiet"]
    cases = {
        "cat, Parquet": ["cat", *lake],
        "pyarrow, Parquet": [sys.executable, "-c", DECODE, str(folder / "lake")],
        "tares, Parquet": [*audit, str(folder / "lake")],
        "tares, Parquet, ids": [*audit, str(folder / "lake"), "--id-column", "id"],
        "cat, NPY": ["cat", str(folder / "y.npy"), str(folder / "p.npy")],
        "tares, NPY": [*audit, "--labels", str(folder / "y.npy"), "--probs", str(folder / "p.npy")],
    }
    print("rows,case,turn,seconds,processor_seconds,peak_mb", flush=True)
    for turn in range(1, turns + 1):
        for case, command in cases.items():
            seconds, processor, peak = run(command)
            print(f'{rows},"{case}",{turn},{seconds:.2f},{processor:.2f},{peak:.0f}', flush=True)


if __name__ == "__main__":
    main()
