"""Two real processes with gloo on the loopback address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tares.torch import CurriculumLoss  # noqa: E402

ROWS, CLASSES = 24, 5

# What one of the two processes does: its half of the batch through DistributedDataParallel, what it got into a file.
WORKER = """
import sys, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from tares.torch import CurriculumLoss
from test_torch_ddp import data, layer
scope, balanced, compiled, out = sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True", sys.argv[4]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(layer())
loss = CurriculumLoss("npcl", rate=0.3, balanced=balanced, burn_in=0, scope=scope)
call = torch.compile(loss, fullgraph=True, backend="aot_eager") if compiled else loss
inputs, targets = (half.chunk(2)[rank] for half in data())
value = call(model(inputs), targets)
value.backward()
kept = loss.kept
torch.save({"value": value.detach(), "gradient": model.module.weight.grad, "mask": kept.mask, "count": kept.count,
            "objective": kept.objective}, f"{out}/{rank}.pt")
dist.destroy_process_group()
time.sleep(0.5)  # as in python/examples/torch_ddp.py
"""


def data() -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    return torch.randn(ROWS, 8, generator=draw), torch.randint(CLASSES, (ROWS,), generator=draw)


def layer() -> torch.nn.Linear:
    torch.manual_seed(0)
    return torch.nn.Linear(8, CLASSES)


def two_processes(out: Path, scope: str, balanced: bool, compiled: bool = False) -> list[dict[str, torch.Tensor]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    arguments = [sys.executable, "-c", WORKER, scope, str(balanced), str(compiled), str(out)]
    workers = [
        subprocess.Popen(arguments, env={**environment, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True) for rank in range(2)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=600)
        assert worker.returncode == 0, said
    return [torch.load(out / f"{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize(("balanced", "compiled"), [(False, False), (True, False), (False, True)])
def test_a_global_selection_is_that_of_one_process_with_the_whole_batch(tmp_path: Path, balanced: bool, compiled: bool) -> None:
    inputs, targets = data()
    model, loss = layer(), CurriculumLoss("npcl", rate=0.3, balanced=balanced, burn_in=0)
    value = loss(model(inputs), targets)
    value.backward()
    first, second = two_processes(tmp_path, "global", balanced, compiled)
    assert torch.equal(torch.cat((first["mask"], second["mask"])), loss.kept.mask)
    assert first["count"] == second["count"] == loss.kept.count
    torch.testing.assert_close(first["objective"], loss.kept.objective)
    torch.testing.assert_close((first["value"] + second["value"]) / 2, value.detach())
    assert torch.equal(first["gradient"], second["gradient"])  # DistributedDataParallel made them so
    torch.testing.assert_close(first["gradient"], model.weight.grad)


def test_each_process_selects_from_its_own_batch_unless_told_otherwise(tmp_path: Path) -> None:
    inputs, targets = data()
    model, gradients = layer(), []
    found = two_processes(tmp_path, "batch", balanced=False)
    for part, got in zip(range(2), found):
        loss = CurriculumLoss("npcl", rate=0.3, burn_in=0)
        model.zero_grad()
        value = loss(model(inputs.chunk(2)[part]), targets.chunk(2)[part])
        value.backward()
        assert torch.equal(got["mask"], loss.kept.mask)
        torch.testing.assert_close(got["value"], value.detach())
        gradients.append(model.weight.grad.clone())
    torch.testing.assert_close(found[0]["gradient"], sum(gradients) / 2)


def test_global_scope_in_a_single_process_is_the_batch() -> None:
    inputs, targets = data()
    logits = layer()(inputs).detach()
    wide, plain = (CurriculumLoss("npcl", rate=0.3, burn_in=0, scope=scope) for scope in ("global", "batch"))
    torch.testing.assert_close(wide(logits, targets), plain(logits, targets))
    assert torch.equal(wide.kept.mask, plain.kept.mask)
