"""Standard training stopped early on a noisy validation part: python early_stop.py TARES FOLDER EPOCHS OUT NOISE SEED. Prints the test accuracy in percent.

FOLDER holds four IDX files. A tenth of the noisy training rows is set aside; the epoch with the best accuracy on their noisy labels is chosen. Two runs that
differ only in their test data are the same training, bit by bit: one is tested on the noisy part, the other on the clean test rows.
"""
import json, pathlib, re, subprocess, sys

PART = 0.1
IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"

def cut(source, first, last, place):
    """Rows of an IDX file."""
    data = source.read_bytes()
    head = 4 + 4 * data[3]
    rows = int.from_bytes(data[4:8], "big")
    row = (len(data) - head) // rows
    place.write_bytes(data[:4] + (last - first).to_bytes(4, "big") + data[8:head] + data[head + first * row : head + last * row])

tares, folder, epochs, out, noise, seed = sys.argv[1:]
folder, place = pathlib.Path(folder), pathlib.Path(out) / re.sub(r"[^A-Za-z0-9.=,+]", "-", noise).strip("-.") / f"seed-{seed}"
done = place / "accuracy"
if not done.exists():
    place.mkdir(parents=True, exist_ok=True)
    if noise == "none":
        noisy = folder
    else:
        noisy = place / "noisy"
        if not (noisy / "truth.csv").exists():
            subprocess.run([tares, "corrupt", folder, "--noise", noise, "--seed", seed, "--out", noisy], check=True, capture_output=True)
    find = lambda part, kind: next(path for base in (noisy, folder) for path in base.rglob(f"{part}-{kind}"))
    rows = int.from_bytes(find("train", LABELS).read_bytes()[4:8], "big")
    kept = round((1 - PART) * rows)
    curves = []
    for name in ("validation", "test"):
        data = place / name
        data.mkdir(exist_ok=True)
        for kind in (IMAGES, LABELS):
            cut(find("train", kind), 0, kept, data / f"train-{kind}")
            if name == "validation":
                cut(find("train", kind), kept, rows, data / f"t10k-{kind}")
            else:
                (data / f"t10k-{kind}").write_bytes((folder / f"t10k-{kind}").read_bytes())
        run = place / f"run-{name}"
        if not (run / "report.html").exists():
            subprocess.run([tares, "train", data, "--method", "standard", "--network", "mlp", "--epochs", epochs, "--seed", seed, "--out", run, "--overwrite"], check=True, capture_output=True)
        curves.append([json.loads(line) for line in (run / "epochs.jsonl").read_text().splitlines()])
    if [epoch["train_loss"] for epoch in curves[0]] != [epoch["train_loss"] for epoch in curves[1]]:
        sys.exit("the two runs are not the same training")
    best = max(range(len(curves[0])), key=lambda epoch: curves[0][epoch]["test_accuracy"])
    done.write_text(f"{100 * curves[1][best]['test_accuracy']:.4f} {best + 1}\n")
print(done.read_text().split()[0])
