"""How good the lists of wrong labels are, and what the methods cost: python lists.py OUT (the folder of `run`; needs pyarrow).

Per noise and method the mean F1 of suspects.csv against the labels that were made wrong; then every method's training time over that of `standard`
on the same rows and seed (median, and where nine of ten lie; a run that had to wait counts with its waiting)."""
import collections, csv, json, pathlib, statistics, sys
import pyarrow.parquet as parquet

scores, seconds = collections.defaultdict(list), collections.defaultdict(dict)
for manifest in sorted(pathlib.Path(sys.argv[1]).glob("**/manifest.json")):
    run, told = manifest.parent, json.loads(manifest.read_text())
    method, noise = told["method"].split(":")[0], (told.get("noise") or {}).get("name", "none")
    if not (run / "suspects.csv").exists():
        continue
    seconds[run.relative_to(sys.argv[1]).parts[0], noise, told["seed"]].setdefault(method, sum(json.loads(line)["seconds"] for line in open(run / "epochs.jsonl")))
    if noise != "none":
        rows = parquet.read_table(run / "samples.parquet", columns=["given", "truth"]).to_pydict()
        wrong = {row for row, (given, truth) in enumerate(zip(rows["given"], rows["truth"])) if given != truth}
        with open(run / "suspects.csv", newline="") as file:
            listed = {int(line["index"]) for line in csv.DictReader(file)}
        scores[noise, method].append(2 * len(wrong & listed) / max(1, len(wrong) + len(listed)))
for (noise, method), all_of in sorted(scores.items()):
    print(f"{noise:16} {method:14} F1 {statistics.mean(all_of):.3f} ({len(all_of)} runs, {all_of.count(0.0)} of them 0)")
for method in sorted({method for of in seconds.values() for method in of}):
    ratios = [of[method] / of["standard"] for of in seconds.values() if method in of and "standard" in of]
    ratios.sort()
    edge = len(ratios) // 20
    print(f"time of {method}: {statistics.median(ratios):.2f} ({ratios[edge]:.2f} to {ratios[-1 - edge]:.2f})")
