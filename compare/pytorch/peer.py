"""PyTorch's side of the steps: `peer.py CASE DIR FORM` answers every line `N` with `wall_ms cpu_ms` of N steps, per step.

Forms are default, channels_last, compile, and bf16 and bf16_channels_last: the first two under autocast, weights and updates in 32 bits.
"""
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from networks import CASES, read

BATCHES = 8


def processor_ms():
    total = 0
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass  # a thread that ended
    return total / 1e6


def resident_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def read_batches(case, directory):
    """The batches that our side wrote: pixels as f32, then labels as i64."""
    _, shape = CASES[case]
    raw = np.fromfile(f"{directory}/{case}.batches", dtype=np.uint8)
    pixels, each = int(np.prod(shape)) * 4, int(np.prod(shape)) * 4 + shape[0] * 8
    batches = []
    for i in range(BATCHES):
        part = raw[i * each : (i + 1) * each]
        x = torch.from_numpy(part[:pixels].view("<f4").reshape(shape).copy())
        batches.append((x, torch.from_numpy(part[pixels:].view("<i8").copy())))
    return batches


def main(case, directory, form):
    base = resident_mb()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    kind, _ = CASES[case]
    network = kind(read(f"{directory}/{case}.safetensors")).train()
    batches = read_batches(case, directory)
    if form.endswith("channels_last"):
        network = network.to(memory_format=torch.channels_last)
        batches = [(x.to(memory_format=torch.channels_last), y) for x, y in batches]
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    forward = torch.compile(network) if form == "compile" else network
    if form == "compile":  # compile before the weights move: forward and backward once, then drop the gradients
        saved = {name: value.clone() for name, value in network.state_dict().items()}
        F.cross_entropy(forward(batches[0][0]), batches[0][1]).backward()
        network.zero_grad()
        network.load_state_dict(saved)
    step = 0
    print("ready", base, flush=True)
    for line in sys.stdin:
        count = int(line)
        wall, cpu = time.perf_counter(), processor_ms()
        for _ in range(count):
            x, y = batches[step % BATCHES]
            with torch.autocast("cpu", torch.bfloat16, enabled=form.startswith("bf16")):
                loss = F.cross_entropy(forward(x), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
        loss.item()
        wall, cpu = (time.perf_counter() - wall) * 1e3 / count, (processor_ms() - cpu) / count
        print(f"{wall:.4f} {cpu:.4f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
