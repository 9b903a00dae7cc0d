"""Several processes with DistributedDataParallel, on CPUs with gloo: 0.90 of the test pictures right, as with one process, in ten seconds.

    torchrun --nproc-per-node 2 python/examples/torch_ddp.py                   # each process selects from its own batch
    torchrun --nproc-per-node 2 python/examples/torch_ddp.py --scope global    # one selection over the batches of all

The batch of all processes together is 64 samples, however many processes there are.
"""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
from noisy_digits import RATE, accuracy, network, noisy_digits
from tares.torch import CurriculumLoss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scope", choices=("batch", "global"), default="batch")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # torchrun says who we are and where the others listen
    digits = noisy_digits(options.seed)
    model = DistributedDataParallel(network(options.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = CurriculumLoss("npcl", rate=RATE, scope=options.scope)
    rows = TensorDataset(digits.inputs, digits.given)
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(rows, seed=options.seed)
    loader = DataLoader(rows, batch_size=64 // dist.get_world_size(), sampler=sampler)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        criterion.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        right = accuracy(model.module, digits)
        print(f"{dist.get_world_size()} processes, scope {options.scope}: {right:.3f} of the test pictures right")
    dist.destroy_process_group()
    # A thread of gloo still lets go of its last all_reduce; a process that ends meanwhile is aborted (seen with PyTorch 2.15 alone).
    time.sleep(0.5)


if __name__ == "__main__":
    main()
