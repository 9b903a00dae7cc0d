"""PyTorch's side of a whole epoch: `epoch.py NETWORK DATA DIR FORM` answers every line with `wall_ms cpu_ms objective accuracy`.

From the IDX files to the test accuracy, as our side: noisy labels, NPCL (rank by hard hinge, Algorithm 1, soft hinge of the kept), Adam,
one epoch of batches of 128, then the test rows. Weights, noisy labels and the order of the rows are those our side wrote to DIR. All pictures
stay in memory as bytes and batches are cut with one call, which is faster than a `DataLoader` with workers.
"""
import gzip
import os
import sys
import time

import numpy as np
import torch
from networks import LeNet, Mlp, read
from peer import processor_ms, resident_mb

NETWORKS = {"lenet": LeNet, "mlp:256-256": Mlp}
RATE, BATCH, TEST_BATCH = 0.2, 128, 500


def idx(folder, name):
    """The bytes of an IDX file, plain or gzipped, without its header of 4 + 4 per dimension bytes."""
    path = os.path.join(folder, name)
    raw = open(path, "rb").read() if os.path.exists(path) else gzip.open(path + ".gz").read()
    values = np.frombuffer(raw, np.uint8)
    shape = tuple(int(n) for n in values[4 : 4 + 4 * raw[3]].view(">i4"))
    return torch.from_numpy(values[4 + 4 * raw[3] :].reshape(shape).copy())


def npcl(logits, labels, rate):
    """The mean soft hinge of the rows that Algorithm 1 keeps, C = (1 − r)² m + (1 − r) e."""
    rows = labels[:, None]
    own = logits.gather(1, rows)[:, 0]
    margins = own - logits.scatter(1, rows, -torch.inf).amax(1)
    hinge = (1 - margins).clamp(min=0)
    with torch.no_grad():
        m = len(labels)
        threshold = (1 - rate) ** 2 * m + (1 - rate) * (margins < 0).sum().item()
        losses, order = hinge.detach().sort(stable=True)
        sums = losses.cumsum(0)
        count = int((sums <= threshold + 1 - torch.arange(1, m + 1)).sum())
        if count < m and (sums[count - 1].item() if count else 0.0) <= threshold - count:
            count += 1
        kept = order[:count]
    soft = torch.where(margins >= 0, hinge, 1 - own + logits.logsumexp(1))
    return soft[kept].mean() if count else None


def epoch(network, forward, form, data, given, order):
    layout = {"memory_format": torch.channels_last} if form == "channels_last" else {}
    pixels = lambda batch: (batch.unsqueeze(1).float() / 255).to(**layout)
    images, tests = idx(data, "train-images-idx3-ubyte"), idx(data, "t10k-images-idx3-ubyte")
    idx(data, "train-labels-idx1-ubyte")  # read as our side does; the noisy ones are `given`
    answers = idx(data, "t10k-labels-idx1-ubyte").long()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    network.train()
    objectives = []
    for rows in order.split(BATCH):
        loss = npcl(forward(pixels(images[rows])), given[rows], RATE)
        if loss is None:
            continue
        objectives.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.eval()
    with torch.no_grad():
        said = torch.cat([network(pixels(some)).argmax(1) for some in tests.split(TEST_BATCH)])
    return sum(objectives) / len(objectives), (said == answers).float().mean().item()


def main(name, data, directory, form):
    base = resident_mb()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    network = NETWORKS[name](read(f"{directory}/epoch.safetensors"))
    given, order = (torch.from_numpy(np.fromfile(f"{directory}/epoch.{what}", "<i8")) for what in ("given", "order"))
    if form == "channels_last":
        network = network.to(memory_format=torch.channels_last)
    initial = {key: value.clone() for key, value in network.state_dict().items()}
    forward = torch.compile(network) if form == "compile" else network
    if form == "compile":  # compile outside the time: forward and backward once for both sizes of a batch
        for rows in (BATCH, len(order) % BATCH or BATCH):
            forward(torch.zeros(rows, 1, 28, 28)).sum().backward()
        network.zero_grad()
    print("ready", base, flush=True)
    for _ in sys.stdin:
        network.load_state_dict(initial)
        wall, cpu = time.perf_counter(), processor_ms()
        objective, accuracy = epoch(network, forward, form, data, given, order)
        wall, cpu = (time.perf_counter() - wall) * 1e3, processor_ms() - cpu
        print(f"{wall:.4f} {cpu:.4f} {objective} {accuracy}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
