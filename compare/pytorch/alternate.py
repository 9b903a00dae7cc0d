"""Checks that both sides compute the same, lets them take turns, and writes the ratios."""
import argparse
import csv
import datetime
import json
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
STEPS = {"mlp": 200, "small-cnn": 15, "lenet": 50, "cnn9": 2, "cnn9-128": 1, "resnet18": 1, "densenet": 1, "vgg16": 1}
# a turn of these is one whole epoch
EPOCHS = {"npcl-epoch": "lenet", "npcl-epoch-mlp": "mlp:256-256"}
FORMS = ["default", "channels_last", "compile"]
CHECKED_STEPS = 3
HERE = os.path.dirname(os.path.abspath(__file__))


class CaseFailed(Exception):
    """A case that cannot be compared; the others continue."""


class Side:
    """A process that answers every line with the numbers of a turn."""

    def __init__(self, command, options):
        environ = environment(str(options.threads), options.isa)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)
        # resident megabytes before data and network exist: the program and its libraries
        word, *base = self.process.stdout.readline().split() or [""]
        self.alive = word == "ready"
        self.base_mb = float(base[0]) if base else 0.0

    def ask(self, line):
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise CaseFailed(f"a side ended with code {self.process.wait()}: {self.process.args}")
        return [float(number) for number in answer.split()]

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# what keeps ATen, oneDNN and MKL from wider vectors; our side is another build
ISAS = {"widest": {}, "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


def environment(threads, isa):
    return dict(os.environ, RAYON_NUM_THREADS=threads, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, **ISAS[isa])


def our_side(case, options, directory):
    """Our process, and the arguments that name the case on both sides."""
    if case in EPOCHS:
        program, arguments = options.ours_epoch, [EPOCHS[case], options.data, directory]
    else:
        program, arguments = options.ours, [case, directory]
    side = Side([program, *arguments], options)
    if not side.alive:
        raise CaseFailed("our side did not start")
    return side, arguments


def check(case, ours, arguments, options):
    """The verdict of check.py on our gradients and losses."""
    losses = [str(loss) for loss in ours.ask(f"check {CHECKED_STEPS}")]
    what = "epoch" if case in EPOCHS else "step"
    command = [sys.executable, os.path.join(HERE, "check.py"), what, *arguments, *losses]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(str(options.threads), options.isa))
    if done.returncode != 0:
        raise CaseFailed(f"check.py ended with code {done.returncode}")
    found = json.loads(done.stdout)
    print(
        f"{case}: our gradients use {found['gradient']:.3f} of the allowed distance from float64 (at {found['where']}), our losses "
        f"{found['loss']:.3f}; PyTorch's {found['peer_gradient']:.3f} and {found['peer_loss']:.3f}; "
        f"seen would be one weight's gradient wrong by {100 * found['seen']:.2g} % of its layer's largest, or a layer's by "
        f"{100 * found['seen_everywhere']:.2g} %",
        file=sys.stderr,
    )
    return found


def peers(case, arguments, options):
    """The forms of PyTorch that run on this machine."""
    script, sides = "epoch.py" if case in EPOCHS else "peer.py", {}
    for form in options.forms.split(","):
        side = Side([sys.executable, os.path.join(HERE, script), *arguments, form], options)
        if side.alive:
            sides[form] = side
        else:
            print(f"{case}: PyTorch's form {form} does not run on this machine", file=sys.stderr)
    if not sides:
        raise CaseFailed("no form of PyTorch runs on this machine")
    return sides


def measure(case, sides, options):
    """Medians of the rounds, per side: wall ms, processor ms, and (whole epochs) the test accuracy."""
    turns, times = list(sides.items()), {name: [] for name in sides}
    for _, side in turns:
        side.ask(STEPS.get(case, 1))  # a first turn that does not count
    for round in range(options.rounds):
        for k in range(len(turns)):
            name, side = turns[(k + round) % len(turns)]
            time.sleep(0.3)  # PyTorch's threads spin for a while after their turn
            times[name].append(side.ask(STEPS.get(case, 1)))
    median = lambda column: {n: statistics.median(t[column] for t in v) for n, v in times.items()}
    if case in EPOCHS:
        accuracy = median(3)
        print(f"{case}: test accuracy {', '.join(f'{n} {a:.4f}' for n, a in accuracy.items())}", file=sys.stderr)
        return median(0), median(1), accuracy
    return median(0), median(1), {}


def compare(case, options, directory):
    """The rows of a case: one per form of PyTorch, or one without times if our side disagrees or nothing is timed."""
    ours, arguments = our_side(case, options, directory)
    found = check(case, ours, arguments, options)
    about = {
        "case": case, "agreement": "agrees" if found["agrees"] else "disagrees", "rounds": options.rounds,
        "ours_gradient": f"{found['gradient']:.3f}", "ours_loss": f"{found['loss']:.3f}",
        "peer_gradient": f"{found['peer_gradient']:.3f}", "peer_loss": f"{found['peer_loss']:.3f}",
        "seen": f"{found['seen']:.1e}", "seen_everywhere": f"{found['seen_everywhere']:.1e}",
    }
    if not found["agrees"] or options.rounds == 0:
        ours.end()
        return [about]
    sides = {"ours": ours, **peers(case, arguments, options)}
    wall, cpu, accuracy = measure(case, sides, options)
    peak, base = {n: side.peak_mb() for n, side in sides.items()}, {n: side.base_mb for n, side in sides.items()}
    for side in sides.values():
        side.end()
    forms = [name for name in sides if name != "ours"]
    best = min(forms, key=wall.get)
    return [{
        **about, "peer": form, "best": int(form == best),
        "ours_ms": f"{wall['ours']:.3f}", "peer_ms": f"{wall[form]:.3f}", "ratio": f"{wall['ours'] / wall[form]:.3f}",
        "ours_cpu_ms": f"{cpu['ours']:.3f}", "peer_cpu_ms": f"{cpu[form]:.3f}", "ratio_cpu": f"{cpu['ours'] / cpu[form]:.3f}",
        "ours_accuracy": accuracy.get("ours", ""), "peer_accuracy": accuracy.get(form, ""),
        "ours_peak_mb": f"{peak['ours']:.0f}", "peer_peak_mb": f"{peak[form]:.0f}",
        "ours_base_mb": f"{base['ours']:.0f}", "peer_base_mb": f"{base[form]:.0f}",
    } for form in forms]


def data_folder(named):
    """A folder with the files of MNIST or, if it is missing, of Fashion-MNIST; None if there is neither."""
    cache = os.environ.get("TARES_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "tares")
    roots = [root for root in (os.environ.get("TARES_DATA"), cache) if root]
    places = [named] if named else [os.path.join(r, "mnist") for r in roots] + [os.path.join(r, "fashion-mnist") for r in [*roots, "/usr/share/datasets"]]
    for place in places:
        if any(os.path.exists(os.path.join(place, "train-images-idx3-ubyte" + end)) for end in ("", ".gz")):
            return place
    print(f"no train-images-idx3-ubyte[.gz] in any of {', '.join(places)}: `tares data fetch mnist` puts it into the last but one place, "
          "or name a folder with --data", file=sys.stderr)
    return None


def main():
    parser = argparse.ArgumentParser(prog="compare/pytorch/run", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join([*CASES, *EPOCHS])}; all without any")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each side; 0 checks the agreement and times nothing")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", choices=ISAS, default="widest", help="avx2: neither side uses wider vectors")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--data", help="folder with the IDX files of the whole epochs; else TARES_DATA/mnist, the cache, Debian's Fashion-MNIST")
    parser.add_argument("--results", required=True, help="folder for the table; results/ of the project unless given")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--ours-epoch", required=True, help=argparse.SUPPRESS)
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
    machine = {
        "date": datetime.date.today().isoformat(), "processor": model, "cores": os.cpu_count(), "threads": options.threads, "isa": options.isa,
        "pytorch": torch.__version__, "burn": "0.22.1", "python": platform.python_version(),
    }
    name = f"pytorch-{machine['date']}-{platform.node() or 'machine'}-{options.threads}-threads{'' if options.isa == 'widest' else '-' + options.isa}.csv"
    path = os.path.join(options.results, name)
    print("case,ours_ms,peer_ms,ratio,agreement", flush=True)
    unfinished = []
    with tempfile.TemporaryDirectory() as directory:
        for case in cases:
            try:
                if case in EPOCHS and options.data is None:
                    raise CaseFailed("no data")
                rows = compare(case, options, directory)
            except CaseFailed as failure:
                print(f"{case}: {failure}", file=sys.stderr)
                rows = [{"case": case, "agreement": "failed", "rounds": options.rounds}]
            shown = next((row for row in rows if row.get("best")), rows[0])
            print(",".join([case, *(shown.get(column, "") for column in ("ours_ms", "peer_ms", "ratio")), shown["agreement"]]), flush=True)
            if shown["agreement"] != "agrees":
                unfinished.append(f"{case} {shown['agreement']}")
            data = os.path.basename(options.data.rstrip("/")) if case in EPOCHS and options.data else "random"
            keep(path, case, [{**row, "data": data, "load": f"{os.getloadavg()[0]:.1f}", **machine} for row in rows])
    print(f"written to {path}", file=sys.stderr)
    if unfinished:
        sys.exit(", ".join(unfinished))


COLUMNS = (
    "case,peer,best,agreement,rounds,ours_ms,peer_ms,ratio,ours_cpu_ms,peer_cpu_ms,ratio_cpu,ours_gradient,ours_loss,peer_gradient,peer_loss,seen,seen_everywhere,"
    "ours_accuracy,peer_accuracy,ours_peak_mb,peer_peak_mb,ours_base_mb,peer_base_mb,data,load,date,processor,cores,threads,isa,pytorch,burn,python"
).split(",")


def keep(path, case, rows):
    """Puts the rows of a case into the file of the day, replacing older ones, so that an interrupted run keeps its results."""
    old = []
    if os.path.exists(path):
        with open(path, newline="") as file:
            old = [row for row in csv.DictReader(file) if row["case"] != case]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(old + rows)
    os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main()
