"""Measures one case: ours and cleanlab in turns, five times each (once when it is long); medians. See `run`."""
import csv, os, shutil, statistics, subprocess, sys, tempfile, time

case, folder, tares = sys.argv[1:4]
p, y = f"{folder}/{case}.p.npy", f"{folder}/{case}.y.npy"
peer_wanted = case != "large" or os.environ.get("PEER_LARGE")
turns = {"million": 5, "large": 1}.get(case, 3)

def warm():
    """Reads the files into the page cache: some systems evict unused pages within seconds."""
    for path in (p, y):
        with open(path, "rb") as file:
            while file.read(1 << 22): pass

def ours(out, *more):
    """(seconds, megabytes) of the whole program into a new folder; peak as the system counts it."""
    shutil.rmtree(out, ignore_errors=True)
    warm()
    code = ("import resource, subprocess, sys, time; t = time.perf_counter();"
            "r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); t = time.perf_counter() - t;"
            "assert r.returncode == 0, r.returncode;"
            "print(t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)")
    command = [sys.executable, "-c", code, tares, "audit", "--labels", y, "--probs", p, "--out", out, "--exit-zero", "--quiet", *more]
    return [float(x) for x in subprocess.check_output(command).split()]

STABLE = """
import numpy, cleanlab.filter, cleanlab.internal.util
class Stable:
    def __getattr__(self, name): return getattr(numpy, name)
    def argsort(self, a, **more): return numpy.argsort(a, kind="stable")
cleanlab.filter.np = cleanlab.internal.util.np = Stable()
"""
PEER = """
import resource, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
from cleanlab.filter import find_label_issues
if __name__ == "__main__":
    p, y = np.load(sys.argv[1]), np.load(sys.argv[2])
    t = time.perf_counter(); flags = find_label_issues(y, p); t = time.perf_counter() - t
    np.save(sys.argv[3], np.flatnonzero(flags))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(t, peak / 1024)
"""
with tempfile.TemporaryDirectory() as scratch:
    script = f"{scratch}/peer.py"
    open(script, "w").write(PEER)
    flags = f"{scratch}/flags.npy"
    mine, theirs = [], []
    calls = []
    for _ in range(turns):
        mine.append(ours(f"{scratch}/out"))
        if os.environ.get("TARES_BENCH"):
            warm()
            said = subprocess.check_output([os.environ["TARES_BENCH"], p, y, "posterior", "3"], text=True)
            calls.append([statistics.median(float(line.split(",")[1]) for line in said.splitlines()[1:])])
        if peer_wanted:
            warm()
            start = time.perf_counter()
            said = subprocess.check_output([sys.executable, script, p, y, flags]).split()
            whole = time.perf_counter() - start
            theirs.append([float(x) for x in said[-2:]] + [whole])  # it may print advice before that
    middle = lambda runs, k: statistics.median(run[k] for run in runs)
    program, megabytes = middle(mine, 0), f"{middle(mine, 1):.0f}"
    if not peer_wanted:
        print(f"{case} program,{program:.3f},,,{megabytes},", flush=True)
    else:
        call, whole, peer_megabytes = middle(theirs, 0), middle(theirs, 2), f"{middle(theirs, 1):.0f}"
        rows = [("program", program, whole), ("program / call", program, call)]
        if calls: rows.insert(0, ("call", middle(calls, 0), call))
        for name, ours_seconds, peer_seconds in rows:
            print(f"{case} {name},{ours_seconds:.3f},{peer_seconds:.2f},{peer_seconds / ours_seconds:.1f},{megabytes},{peer_megabytes}", flush=True)
    if peer_wanted:
        import numpy as np
        seconds, megabytes = ours(f"{scratch}/out", "--method", "confident", "--gallery", "1")
        with open(f"{scratch}/out/suspects.csv", newline="") as file:
            found = {int(line["index"]) for line in csv.DictReader(file)}
        wanted = set(np.load(flags).tolist())
        # In numpy's sort the order of equal numbers depends on the machine's vector instructions, and with many classes many counts
        # are rounded equally far: with a sort that keeps their order, what does cleanlab flag?
        subprocess.check_output([sys.executable, "-c", STABLE + PEER, p, y, flags])
        stable = set(np.load(flags).tolist())
        print(f"{case}: confident learning, {seconds:.2f} s, {megabytes:.0f} MB: cleanlab flags {len(wanted)}, ours {len(found)}, "
              f"{len(wanted - found)} only there, {len(found - wanted)} only here; "
              f"with a stable sort in cleanlab {len(stable - found)} and {len(found - stable)}", file=sys.stderr, flush=True)
