"""The curriculum loss in tensor operations against the compiled core: the same samples kept, the same values and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from tares._tares import HostStep  # noqa: E402
from tares.torch import CurriculumLoss, sample_loss  # noqa: E402

BASE_LOSSES = ["hinge", "soft-hinge", "weighted:0.3", "squared-hinge", "logistic", "sigmoid", "savage", "truncated-hinge:2"]
THRESHOLDS = ["e", "q", "npcl:0.3", "npcl-fixed:0.4", "npcl:0", "npcl:1", "custom:0.7", "custom:0", "custom:2"]

# Logits as the authors' example has them (K = 3): rate, T and the value to six digits come from their method's description.
LOGITS = [[3, 0, 0], [2, 1, 0], [1, 0.5, 0], [0, 2, 0], [0, 0, 1.5], [2.5, 0, 0], [0.2, 0.1, 0], [0, 3, 1]]
TARGETS = [0, 0, 0, 0, 2, 1, 1, 1]


def batches() -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Random batches and those that break selections: ties, one label, one sample, masked classes, extreme logits."""
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw)

    def labels(rows: int, classes: int) -> torch.Tensor:
        return torch.randint(classes, (rows,), generator=draw)

    for rows, classes in [(1, 2), (1, 10), (2, 2), (33, 5), (128, 10), (60, 100)]:
        for spread in (0.1, 1.0, 6.0):
            yield f"{rows}x{classes}, spread {spread}", spread * normal(rows, classes), labels(rows, classes)
    for step in (0.5, 0.1):
        yield f"ties at {step}", (normal(90, 4) / step).round() * step, labels(90, 4)
    yield "all equal", torch.zeros(40, 3), labels(40, 3)
    yield "one label", normal(50, 6), torch.full((50,), 2)
    yield "all right", 9 * torch.nn.functional.one_hot(labels(30, 4), 4).float(), labels(30, 4)
    masked = normal(40, 6)
    targets = labels(40, 3)
    masked[:, 3:] = -torch.inf  # classes that cannot be
    yield "masked classes", masked, targets
    yield "one class left", torch.tensor([[1.0, -torch.inf], [-torch.inf, 0.0], [0.5, 0.0]]), torch.tensor([0, 1, 1])
    yield "extreme logits", 1e4 * normal(30, 5), labels(30, 5)
    infinite = normal(30, 5)
    infinite[3] = torch.inf * torch.tensor([1.0, -1, -1, -1, -1])
    yield "infinite loss", infinite, torch.ones(30, dtype=torch.int64)


def both_ways(loss: CurriculumLoss, logits: torch.Tensor, targets: torch.Tensor) -> None:
    """Compares :meth:`forward`, which must use the core, with the tensor operations."""
    by_core, by_tensors = (logits.clone().requires_grad_() for _ in range(2))
    value = loss(by_core, targets)
    assert isinstance(loss._last[0], HostStep), "the core was not used"
    core = loss.kept
    value.backward()
    other = loss.forward_tensors(by_tensors, targets)
    tensors = loss.kept
    other.backward()
    assert torch.equal(tensors.mask, core.mask)
    assert torch.equal(tensors.margins, core.margins)
    for field in ("count", "extra", "misclassified", "starved"):
        assert getattr(tensors, field).item() == getattr(core, field).item(), field
    torch.testing.assert_close(tensors.sum, core.sum, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(tensors.objective, core.objective, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(other, value, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(by_tensors.grad, by_core.grad, rtol=1e-5, atol=1e-5)
    assert (by_core.grad[~core.mask] == 0).all() and (by_tensors.grad[~core.mask] == 0).all()


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_every_threshold_keeps_what_the_core_keeps(threshold: str) -> None:
    for extra, balanced in itertools.product((True, False), repeat=2):
        loss = CurriculumLoss(threshold, extra=extra, balanced=balanced, burn_in=0)
        for what, logits, targets in batches():
            try:
                both_ways(loss, logits, targets)
            except AssertionError as error:
                raise AssertionError(f"{what}, extra {extra}, balanced {balanced}: {error}") from error


@pytest.mark.parametrize("rank", BASE_LOSSES)
@pytest.mark.parametrize("train", BASE_LOSSES)
def test_every_base_loss_ranks_and_trains_as_in_the_core(rank: str, train: str) -> None:
    for threshold, balanced in (("npcl:0.3", False), ("q", True)):
        loss = CurriculumLoss(threshold, rank=rank, train=train, balanced=balanced, burn_in=0)
        for what, logits, targets in batches():
            soft = ("soft-hinge", "weighted:0.3")
            if what == "infinite loss" and (rank in soft or (rank == "truncated-hinge:2" and train in soft)):
                continue  # logsumexp of infinity is not a number, and handed on: nothing to compare
            try:
                both_ways(loss, logits, targets)
            except AssertionError as error:
                raise AssertionError(f"{what}, {threshold}: {error}") from error


@pytest.mark.parametrize("balanced", [False, True])
def test_logits_may_stand_column_after_column(balanced: bool) -> None:
    """As those of a convolution do, whose classes come before the places."""
    for name, logits, targets in batches():
        turned = logits.t().contiguous().t()
        loss = CurriculumLoss("q", burn_in=0, balanced=balanced)
        expected, found = (given.clone(memory_format=torch.preserve_format).requires_grad_() for given in (logits, turned))
        values = [loss(given, targets) for given in (expected, found)]
        assert torch.equal(values[0], values[1]), name
        for value in values:
            value.backward()
        assert expected.grad is not None and found.grad is not None and torch.equal(expected.grad, found.grad), name


def test_a_threshold_function_may_give_a_number() -> None:
    logits, targets = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 3
    for balanced in (False, True):
        given = CurriculumLoss(lambda m, e: 10.0, burn_in=0, balanced=balanced)(logits, targets)
        assert given == CurriculumLoss(lambda m, e: torch.full_like(m, 10.0), burn_in=0, balanced=balanced)(logits, targets)


def test_the_burn_in_keeps_everything_in_both() -> None:
    loss = CurriculumLoss("npcl:0.5", burn_in=3)
    loss.set_epoch(2)
    for _, logits, targets in batches():
        if logits.isinf().any():
            continue
        both_ways(loss, logits, targets)
        assert loss.kept.mask.all()
    loss.set_epoch(3)
    assert loss.selects


@pytest.mark.parametrize("way", ["forward", "forward_tensors"])
def test_the_golden_vector_to_six_digits(way: str) -> None:
    logits, targets = torch.tensor(LOGITS), torch.tensor(TARGETS)
    for rate, count, value, objective in [(0.0, 7, 0.834498, 4.6), (0.25, 6, 0.433657, 1.6), (0.5, 4, 0.0, 0.0)]:
        loss = CurriculumLoss("npcl", rate=rate, burn_in=0)
        assert getattr(loss, way)(logits, targets).item() == pytest.approx(value, abs=1e-6)
        assert (loss.kept.count, loss.kept.misclassified) == (count, 3)
        assert loss.kept.objective.item() == pytest.approx(objective, abs=1e-6)
    # E: C = 8, T = 6, L_6 = 1.6 <= 2: one more
    loss = CurriculumLoss("e", burn_in=0)
    getattr(loss, way)(logits, targets)
    assert loss.kept.positions.tolist() == [0, 1, 2, 3, 4, 6, 7] and loss.kept.extra
    loss = CurriculumLoss("npcl", rate=0.5, burn_in=1)
    loss.set_epoch(0)
    assert getattr(loss, way)(logits, targets).item() == pytest.approx(1.186687, abs=1e-6)


@pytest.mark.parametrize("way", ["forward", "forward_tensors"])
def test_nothing_kept_is_zero_with_zero_gradient(way: str) -> None:
    for scale in (1.0, 1e4, torch.inf):
        logits = torch.tensor([[-scale, 1.0], [1.0, -scale]], requires_grad=True)
        loss = CurriculumLoss(0.0, extra=False, burn_in=0)
        value = getattr(loss, way)(logits, torch.tensor([0, 1]))
        value.backward()
        assert value.item() == 0 and (logits.grad == 0).all()
        assert not loss.kept.mask.any() and loss.kept.starved and loss.kept.objective == 0


@pytest.mark.parametrize("way", ["forward", "forward_tensors"])
def test_logits_that_are_not_numbers_are_handed_on(way: str) -> None:
    loss = CurriculumLoss("npcl", rate=0.1, burn_in=0)
    logits = torch.tensor([[torch.nan, 1.0], [2.0, 0.0]], requires_grad=True)
    value = getattr(loss, way)(logits, torch.tensor([0, 0]))
    value.backward()
    assert value.isnan() and logits.grad[0].isnan().any() and not loss.kept.mask.any()


@pytest.mark.parametrize("name", [*BASE_LOSSES, "cross-entropy", "gce:0.7", "gce:1", "truncated-gce:0.7:0.5", "mae", "symmetric-ce:0.1:1"])
def test_losses_have_the_values_of_their_formulas(name: str) -> None:
    draw = torch.Generator().manual_seed(7)
    logits = (3 * torch.randn(200, 5, generator=draw)).double()
    targets = torch.randint(5, (200,), generator=draw)
    p = logits.softmax(1).gather(1, targets[:, None]).squeeze(1)
    others = logits.clone()
    others[torch.arange(200), targets] = -torch.inf
    u = logits.gather(1, targets[:, None]).squeeze(1) - others.max(1).values
    hinge = (1 - u).clamp(min=0)
    soft = torch.where(u >= 0, hinge, 1 - p.log())
    formula = {
        "hinge": hinge,
        "soft-hinge": soft,
        "weighted:0.3": 0.3 * soft + 0.7 * hinge,
        "squared-hinge": hinge**2,
        "logistic": torch.log2(1 + torch.exp(-u)),
        "sigmoid": 2 / (1 + torch.exp(u)),
        "savage": 4 / (1 + torch.exp(u)) ** 2,
        "truncated-hinge:2": hinge.clamp(max=2),
        "cross-entropy": -p.log(),
        "gce:0.7": (1 - p**0.7) / 0.7,
        "gce:1": 1 - p,
        "truncated-gce:0.7:0.5": (1 - p.clamp(min=0.5) ** 0.7) / 0.7,
        "mae": 2 * (1 - p),
        "symmetric-ce:0.1:1": -0.1 * p.log() + 4 * (1 - p),
    }[name]
    found = sample_loss(name, reduction="none")(logits, targets)
    torch.testing.assert_close(found, formula)
    assert sample_loss(name).name == name
    # away from kinks the gradient is that of finite differences
    loss = sample_loss(name, reduction="sum")
    smooth = ((u.abs() > 1e-3) & ((u - 1).abs() > 1e-3) & ((hinge - 2).abs() > 1e-3) & ((p - 0.5).abs() > 1e-3)).nonzero().squeeze(1)
    assert len(smooth) > 150
    assert torch.autograd.gradcheck(lambda t: loss(t, targets[smooth]), (logits[smooth].requires_grad_(),))
