"""Starts both sides, lets them take turns, checks that they compute the same, and writes the ratios."""
import argparse
import csv
import datetime
import os
import platform
import statistics
import subprocess
import sys
import tempfile

import torch
from networks import CASES

# steps of one turn: long enough for the clock, short enough that a disturbance hits both sides
STEPS = {"mlp": 40, "small-cnn": 8, "lenet": 20, "cnn9": 2, "cnn9-128": 1, "resnet18": 1}
FORMS = ["default", "channels_last", "compile"]


class Side:
    def __init__(self, command, threads):
        env = dict(os.environ, RAYON_NUM_THREADS=threads, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.alive = self.process.stdout.readline().strip() == "ready"

    def turn(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        wall, cpu, *losses = map(float, self.process.stdout.readline().split())
        return wall, cpu, losses

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def agree(case, form, losses, forms):
    """Stops unless the losses of the first five steps agree; returns the largest difference.

    The first two steps must agree to 1e-3. Later ones too, except where PyTorch does not agree with itself: Adam makes a step of
    full size of a gradient that is rounding alone (a bias before batch norm has no other), so that the runs of two forms part.
    """
    distance = lambda a, b, steps: max(abs(x - y) for x, y in zip(losses[a][:steps], losses[b][:steps]))
    own = max((distance(a, b, 5) for a in forms for b in forms), default=0.0)
    early, apart, allowed = distance("ours", form, 2), distance("ours", form, 5), max(1e-3, 3 * own)
    if early > 1e-3 or apart > allowed:
        sys.exit(f"{case}: losses are {apart:.1e} apart from PyTorch's {form} (allowed {allowed:.1e}): {losses}")
    return apart


def compare(case, options, directory):
    threads = str(options.threads)
    ours = Side([options.ours, case, directory], threads)
    here = os.path.dirname(os.path.abspath(__file__))
    peers = {}
    for form in options.forms.split(","):
        side = Side([sys.executable, os.path.join(here, "peer.py"), case, directory, form], threads)
        if side.alive:
            peers[form] = side
        else:
            print(f"{case}: PyTorch's form {form} does not run on this machine", file=sys.stderr)
    losses = {"ours": ours.turn(5)[2], **{form: side.turn(5)[2] for form, side in peers.items()}}
    apart = {form: agree(case, form, losses, list(peers)) for form in peers}
    times = {name: [] for name in ["ours", *peers]}
    turns = [("ours", ours), *peers.items()]
    for round in range(options.rounds):
        for k in range(len(turns)):
            name, side = turns[(k + round) % len(turns)]
            times[name].append(side.turn(STEPS[case])[:2])
    rows = []
    wall, cpu = ({n: statistics.median(t[i] for t in v) for n, v in times.items()} for i in (0, 1))
    memory = {name: side.peak_mb() for name, side in turns}
    best = min(peers, key=wall.get)
    for form in peers:
        rows.append({
            "case": case, "peer": form, "best": int(form == best), "rounds": options.rounds,
            "ours_ms": f"{wall['ours']:.3f}", "peer_ms": f"{wall[form]:.3f}", "ratio": f"{wall['ours'] / wall[form]:.3f}",
            "ours_cpu_ms": f"{cpu['ours']:.3f}", "peer_cpu_ms": f"{cpu[form]:.3f}",
            "ratio_cpu": f"{cpu['ours'] / cpu[form]:.3f}",
            "losses_apart": f"{apart[form]:.1e}", "ours_peak_mb": f"{memory['ours']:.0f}", "peer_peak_mb": f"{memory[form]:.0f}",
        })
    for _, side in turns:
        side.end()
    chosen = next(row for row in rows if row["best"])
    print(f"{case},{chosen['ours_ms']},{chosen['peer_ms']},{chosen['ratio']}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(prog="compare/pytorch/run", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all without any")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--results", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for case in options.cases:
        if case not in CASES:
            parser.error(f"case {case!r} is not one of {', '.join(CASES)}")
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    about = {
        "date": datetime.date.today().isoformat(), "processor": model, "cores": os.cpu_count(), "threads": options.threads,
        "pytorch": torch.__version__, "burn": "0.22.1", "python": platform.python_version(),
    }
    name = f"pytorch-{about['date']}-{platform.node() or 'machine'}-{options.threads}-threads.csv"
    path = os.path.join(options.results, name)
    print("case,ours_ms,peer_ms,ratio", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for case in options.cases or CASES:
            rows = compare(case, options, directory)
            keep(path, case, [{**row, "load": f"{os.getloadavg()[0]:.1f}", **about} for row in rows])
    print(f"written to {path}", file=sys.stderr)


def keep(path, case, rows):
    """Puts the rows of a case into the file of the day, in place of older ones; a run that is cut off keeps what it has."""
    old = []
    if os.path.exists(path):
        with open(path, newline="") as file:
            old = [row for row in csv.DictReader(file) if row["case"] != case]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(old + rows)
    os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main()
