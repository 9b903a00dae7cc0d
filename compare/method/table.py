"""One table of all held-out settings: python table.py OUT [OUT...]. Mean accuracy over seeds; also in judged.csv of the first OUT."""
import collections, csv, json, pathlib, statistics, sys

outs = [pathlib.Path(out) for out in sys.argv[1:]]
cells = collections.defaultdict(list)
for manifest in [manifest for out in outs for manifest in sorted(out.glob("*/runs/*/*/seed-*/manifest.json"))]:
    record = json.loads(manifest.read_text())
    if record.get("result"):
        place = manifest.parent
        setting = f"{place.parts[-5]} {place.parts[-3]}"
        cells[setting, record["method"]].append(100 * record["result"]["test_accuracy_last10"])
for done in [done for out in outs for done in sorted(out.glob("early/*/seed-*/accuracy"))]:
    cells[f"fashion {done.parts[-3]}", "standard (early stopping)"].append(float(done.read_text().split()[0]))
settings = list(dict.fromkeys(setting for setting, _ in cells))
methods = list(dict.fromkeys(method for _, method in cells))
with open(outs[0] / "judged.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["setting", "method", "seeds", "mean", "std"])
    for setting in settings:
        for method in methods:
            if values := cells.get((setting, method)):
                writer.writerow([setting, method, len(values), f"{statistics.mean(values):.2f}", f"{statistics.pstdev(values):.2f}"])
print("| setting | " + " | ".join(methods) + " |\n|---|" + "---:|" * len(methods))
whole = {method: [] for method in methods}
for setting in settings:
    means = {method: statistics.mean(cells[setting, method]) for method in methods if (setting, method) in cells}
    best = max(means.values())
    show = lambda method: "" if method not in means else f"**{means[method]:.1f}**" if means[method] == best else f"{means[method]:.1f}"
    print(f"| {setting} | " + " | ".join(map(show, methods)) + " |")
    if len(means) == len(methods):
        for method, value in means.items():
            whole[method].append(value)
if any(whole.values()):
    print("| **mean of settings with all methods** | " + " | ".join(f"{statistics.mean(v):.2f}" if v else "" for v in whole.values()) + " |")
