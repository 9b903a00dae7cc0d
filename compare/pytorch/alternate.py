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
import time

import torch
from networks import CASES

# steps of one turn: long enough for the clock, short enough that a disturbance hits both sides
STEPS = {"mlp": 200, "small-cnn": 15, "lenet": 50, "cnn9": 2, "cnn9-128": 1, "resnet18": 1}
# a turn of these is one whole epoch
EPOCHS = {"npcl-epoch": "lenet", "npcl-epoch-mlp": "mlp:256-256"}
FORMS = ["default", "channels_last", "compile"]
HERE = os.path.dirname(os.path.abspath(__file__))


class Side:
    """A process that answers every line with the time of a turn."""

    def __init__(self, command, threads):
        env = dict(os.environ, RAYON_NUM_THREADS=threads, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        # resident megabytes before anything was made: the program and its libraries
        word, *base = self.process.stdout.readline().split() or [""]
        self.alive = word == "ready"
        self.base_mb = float(base[0]) if base else 0.0

    def turn(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        wall, cpu, *results = map(float, self.process.stdout.readline().split())
        return wall, cpu, results

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def start(case, options, directory):
    """Our side, and PyTorch's in those forms that run on this machine."""
    threads = str(options.threads)
    if case in EPOCHS:
        ours, script, arguments = options.ours_epoch, "epoch.py", [EPOCHS[case], options.data, directory]
    else:
        ours, script, arguments = options.ours, "peer.py", [case, directory]
    sides = {"ours": Side([ours, *arguments], threads)}
    if not sides["ours"].alive:
        sys.exit(f"{case}: our side did not start")
    for form in options.forms.split(","):
        side = Side([sys.executable, os.path.join(HERE, script), *arguments, form], threads)
        if side.alive:
            sides[form] = side
        else:
            print(f"{case}: PyTorch's form {form} does not run on this machine", file=sys.stderr)
    return sides


def truth(case, options, directory):
    """The losses of the first five steps in double precision."""
    side = Side([sys.executable, os.path.join(HERE, "peer.py"), case, directory, "float64"], str(options.threads))
    losses = side.turn(5)[2]
    side.end()
    return losses


def agree_on_steps(case, losses, exact):
    """Stops unless the losses of the first five steps agree; returns per side the largest distance from double precision.

    The first must be within 1e-4 of double precision and all five within 1e-3, except where single precision itself does not come so near:
    Adam's first step is `lr · sign(gradient)`, so that a gradient that is rounding alone makes a step of full size in one direction or the
    other. Then our side may be as far from double precision as the farthest form of PyTorch.
    """
    distance = lambda a, steps: max(abs(x - y) for x, y in zip(a[:steps], exact[:steps]))
    apart = {name: distance(some, 5) for name, some in losses.items()}
    allowed = max(1e-3, *(apart[name] for name in losses if name != "ours"))
    if distance(losses["ours"], 1) > 1e-4 or apart["ours"] > allowed:
        sys.exit(f"{case}: distances from float64 in five steps {apart}, allowed {allowed:.1e}: {losses}, float64 {exact}")
    return apart


def agree_on_epochs(case, results):
    """Stops unless objective and accuracy of the epoch agree to 0.01 or as well as PyTorch's own forms do among each other: after hundreds of
    steps the last bit of the first decides much. Returns per side the distance of accuracies from ours."""
    for what, ours, theirs in zip(("objective", "accuracy"), results["ours"], zip(*(v for n, v in results.items() if n != "ours"))):
        room = max(0.01, max(theirs) - min(theirs))
        if not min(theirs) - room <= ours <= max(theirs) + room:
            sys.exit(f"{case}: {what} {ours} is not within {room} of PyTorch's: {results}")
    return {form: abs(right - results["ours"][1]) for form, (_, right) in results.items()}


def compare(case, options, directory):
    sides = start(case, options, directory)
    if case in EPOCHS:
        results = {name: side.turn(1)[2] for name, side in sides.items()}
        apart = agree_on_epochs(case, results)
        print(f"{case}: accuracy {', '.join(f'{name} {values[1]:.4f}' for name, values in results.items())}", file=sys.stderr)
    else:
        losses = {name: side.turn(5)[2] for name, side in sides.items()}
        apart = agree_on_steps(case, losses, truth(case, options, directory))
    times = {name: [] for name in sides}
    turns = list(sides.items())
    for round in range(options.rounds):
        for k in range(len(turns)):
            name, side = turns[(k + round) % len(turns)]
            time.sleep(0.3)  # PyTorch's threads spin for a while after their turn
            times[name].append(side.turn(STEPS.get(case, 1))[:2])
    rows = []
    wall, cpu = ({n: statistics.median(t[i] for t in v) for n, v in times.items()} for i in (0, 1))
    peak, base = {n: side.peak_mb() for n, side in turns}, {n: side.base_mb for n, side in turns}
    forms = [name for name in sides if name != "ours"]
    best = min(forms, key=wall.get)
    for form in forms:
        rows.append({
            "case": case, "peer": form, "best": int(form == best), "rounds": options.rounds,
            "ours_ms": f"{wall['ours']:.3f}", "peer_ms": f"{wall[form]:.3f}", "ratio": f"{wall['ours'] / wall[form]:.3f}",
            "ours_cpu_ms": f"{cpu['ours']:.3f}", "peer_cpu_ms": f"{cpu[form]:.3f}",
            "ratio_cpu": f"{cpu['ours'] / cpu[form]:.3f}",
            "ours_apart": f"{apart['ours']:.1e}", "peer_apart": f"{apart[form]:.1e}",
            "ours_peak_mb": f"{peak['ours']:.0f}", "peer_peak_mb": f"{peak[form]:.0f}",
            "ours_base_mb": f"{base['ours']:.0f}", "peer_base_mb": f"{base[form]:.0f}",
        })
    for _, side in turns:
        side.end()
    chosen = next(row for row in rows if row["best"])
    print(f"{case},{chosen['ours_ms']},{chosen['peer_ms']},{chosen['ratio']}", flush=True)
    return rows


def data_folder(named):
    """A folder with the files of MNIST, or of the data set that a machine is likelier to have, and its name."""
    cache = os.environ.get("TARES_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "tares")
    roots = [root for root in (os.environ.get("TARES_DATA"), cache) if root]
    places = [named] if named else [os.path.join(r, "mnist") for r in roots] + [os.path.join(r, "fashion-mnist") for r in [*roots, "/usr/share/datasets"]]
    for place in places:
        if any(os.path.exists(os.path.join(place, "train-images-idx3-ubyte" + end)) for end in ("", ".gz")):
            return place
    sys.exit(f"no train-images-idx3-ubyte[.gz] in any of {', '.join(places)}: `tares data fetch mnist` puts it into the last but one place, "
             "or name a folder with --data")


def main():
    parser = argparse.ArgumentParser(prog="compare/pytorch/run", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join([*CASES, *EPOCHS])}; all without any")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--data", help="folder with the IDX files of the whole epochs; else TARES_DATA/mnist, the cache, Debian's Fashion-MNIST")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--ours-epoch", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--results", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = [*CASES, *EPOCHS]
    for case in options.cases:
        if case not in known:
            parser.error(f"case {case!r} is not one of {', '.join(known)}")
    cases = options.cases or known
    if any(case in EPOCHS for case in cases):
        options.data = data_folder(options.data)
        print(f"whole epochs on {options.data}", file=sys.stderr)
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
        for case in cases:
            rows = compare(case, options, directory)
            data = os.path.basename(options.data.rstrip("/")) if case in EPOCHS else "random"
            keep(path, case, [{**row, "data": data, "load": f"{os.getloadavg()[0]:.1f}", **about} for row in rows])
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
