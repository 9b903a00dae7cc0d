"""torch.compile without graph breaks: the same losses, and no new compilation for every epoch or rate.

On the CPU the core computes logits in 32 bits; those in 64 bits take the way of all other devices, tensor operations.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tares.torch import CurriculumLoss, EarlyLearningRegulariser  # noqa: E402
from tares.torch.curriculum import Seen  # noqa: E402


def batch(rows: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return (4 * torch.randn(rows, 5, generator=draw)).round() / 2, torch.randint(5, (rows,), generator=draw)


def compare(loss: CurriculumLoss, compiled: torch.nn.Module, rows: int, seed: int, dtype: torch.dtype = torch.float32) -> None:
    logits, targets = batch(rows, seed)
    logits = logits.to(dtype)
    plain, fast = (logits.clone().requires_grad_() for _ in range(2))
    value = loss(plain, targets)
    kept = loss.kept.mask
    value.backward()
    found = compiled(fast, targets)
    assert isinstance(loss._last[0], tuple if dtype == torch.float32 else Seen)
    assert torch.equal(loss.kept.mask, kept)
    found.backward()
    torch.testing.assert_close(found, value, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(fast.grad, plain.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("backend", "balanced"), [("inductor", False), ("inductor", True), ("aot_eager", False)])
def test_compiled_whole_it_is_the_same_loss(backend: str, balanced: bool, dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    loss = CurriculumLoss("npcl", rate=0.3, balanced=balanced, burn_in=1)
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    for epoch in range(3):
        loss.set_epoch(epoch)
        for seed in range(3):
            compare(loss, compiled, 48, 10 * epoch + seed, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_rate_that_changes_every_epoch_is_not_compiled_every_epoch(dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    loss = CurriculumLoss("npcl", rate=0.0, burn_in=2)
    compiled = torch.compile(loss, fullgraph=True, backend=counter)
    for epoch in range(20):
        loss.set_epoch(epoch)
        loss.rate = 0.02 * epoch
        compare(loss, compiled, 32, epoch, dtype)
    assert counter.frame_count <= 4, f"compiled {counter.frame_count} times"


def test_what_was_kept_may_be_read_inside_the_graph() -> None:
    torch._dynamo.reset()
    loss = CurriculumLoss("npcl", rate=0.3, burn_in=0)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return loss(logits, targets), loss.kept.mask

    for seed in range(3):
        logits, targets = batch(32, seed)
        value, mask = step(logits, targets)
        torch.testing.assert_close(value, loss(logits, targets), rtol=1e-6, atol=1e-6)
        assert torch.equal(mask, loss.kept.mask)


def test_the_last_smaller_batch_compiles_too() -> None:
    torch._dynamo.reset()
    loss = CurriculumLoss("q", burn_in=0)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for rows in (32, 7, 1, 19):
        compare(loss, compiled, rows, rows)


def test_wrong_shapes_are_named() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(CurriculumLoss("q", burn_in=0), fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match="logits must have 2 dimensions"):
        compiled(torch.zeros(4), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"targets must have shape \(4,\)"):
        compiled(torch.zeros(4, 3), torch.zeros(3, dtype=torch.int64))


def test_early_learning_compiles() -> None:
    torch._dynamo.reset()
    logits, index = torch.randn(6, 4), torch.tensor([5, 0, 9, 3, 2, 7])
    plain, fast = (EarlyLearningRegulariser(10, 4) for _ in range(2))
    compiled = torch.compile(fast, fullgraph=True, backend="aot_eager")
    for _ in range(3):
        torch.testing.assert_close(compiled(logits, index), plain(logits, index))
    torch.testing.assert_close(fast.targets, plain.targets)
