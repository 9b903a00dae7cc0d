"""The losses as people use them: half precision, accumulation, second derivatives, pickles, mistakes."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import tares.torch as losses  # noqa: E402
from tares._tares import HostStep  # noqa: E402
from tares.torch import CurriculumLoss, EarlyLearningRegulariser, HingeLoss, SampleLoss, sample_loss  # noqa: E402


def batch(rows: int = 64, classes: int = 5, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(rows, classes, generator=draw), torch.randint(classes, (rows,), generator=draw)


def npcl(**options: object) -> CurriculumLoss:
    return CurriculumLoss("npcl", rate=0.3, **{"burn_in": 0, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_32_bits(dtype: torch.dtype) -> None:
    logits, targets = batch()
    logits = logits.to(dtype)
    for loss in (npcl(), npcl(scope="global"), npcl(train="cross-entropy")):
        half, single = logits.clone().requires_grad_(), logits.float().requires_grad_()
        value = loss(half, targets)
        value.backward()
        expected = loss(single, targets)
        expected.backward()
        assert value.dtype == torch.float32 and value == expected
        assert half.grad.dtype == dtype and torch.equal(half.grad, single.grad.to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_trains(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer, loss = torch.nn.Linear(8, 5), npcl()
    with torch.autocast("cpu", dtype=dtype):
        logits = layer(torch.randn(32, 8))
        value = loss(logits, torch.randint(5, (32,)))
    assert logits.dtype == dtype and value.dtype == torch.float32
    (1024 * value).backward()  # as a GradScaler scales
    assert layer.weight.grad.isfinite().all() and layer.weight.grad.abs().sum() > 0


def test_gradients_add_up_over_small_batches() -> None:
    torch.manual_seed(0)
    layer, loss = torch.nn.Linear(8, 5), npcl()
    parts = [(torch.randn(16, 8), torch.randint(5, (16,))) for _ in range(3)]
    expected = torch.zeros_like(layer.weight)
    for inputs, targets in parts:
        layer.zero_grad()
        loss(layer(inputs), targets).backward()
        expected += layer.weight.grad / 3
    layer.zero_grad()
    for inputs, targets in parts:
        (loss(layer(inputs), targets) / 3).backward()
    torch.testing.assert_close(layer.weight.grad, expected)


def test_a_gradient_may_be_changed_and_the_graph_walked_again() -> None:
    logits, targets = batch(8)
    leaf, loss = logits.clone().requires_grad_(), npcl()
    value = loss(leaf, targets)
    first = torch.autograd.grad(value, leaf, retain_graph=True)[0]
    expected = first.clone()
    first.zero_()
    value.backward(retain_graph=True)
    leaf.grad.mul_(2)
    value.backward()
    torch.testing.assert_close(leaf.grad, 3 * expected)
    many = torch.autograd.grad(loss(leaf, targets), leaf, torch.tensor([1.0, 2.0]), is_grads_batched=True)[0]
    torch.testing.assert_close(many, torch.stack((expected, 2 * expected)))


def test_a_graph_may_be_walked_twice_and_differentiated_twice() -> None:
    logits, targets = batch(8)
    for train in ("soft-hinge", "squared-hinge"):
        loss = npcl(train=train)
        leaf = logits.clone().requires_grad_()
        value = loss(leaf, targets)
        assert isinstance(loss._last[0], HostStep)
        first = torch.autograd.grad(value, leaf, retain_graph=True)[0]
        again = torch.autograd.grad(2 * value, leaf, create_graph=True)[0]
        torch.testing.assert_close(again, 2 * first)
        by_tensors = torch.autograd.grad(loss.forward_tensors(leaf, targets), leaf, create_graph=True)[0]
        torch.testing.assert_close(
            torch.autograd.grad(again.square().sum(), leaf)[0], torch.autograd.grad((2 * by_tensors).square().sum(), leaf)[0]
        )


def test_functional_transforms_work() -> None:
    logits, targets = batch(8)
    loss = npcl()
    leaf = logits.clone().requires_grad_()
    loss(leaf, targets).backward()
    torch.testing.assert_close(torch.func.grad(lambda t: loss(t, targets))(logits), leaf.grad)


def test_values_are_never_read_back() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    logits, targets = batch(16)
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:  # tensors without values: reading one is an error
        for balanced in (False, True):
            for rank in ("hinge", "soft-hinge", "gce"):
                fake = mode.from_tensor(logits).requires_grad_()
                loss = npcl(balanced=balanced, rank=rank)
                loss(fake, mode.from_tensor(targets)).backward()
                assert loss.kept.objective.shape == ()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_no_step_on_a_cuda_device_waits_for_it() -> None:
    logits, targets = (tensor.cuda() for tensor in batch())
    expected = npcl()(logits.cpu(), targets.cpu())
    leaf = logits.requires_grad_()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for loss in (npcl(), npcl(balanced=True), npcl(rank="soft-hinge")):
            loss(leaf, targets).backward()
        value = npcl()(leaf, targets)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(value.cpu(), expected)


def test_a_prior_of_ones_own_is_a_function_of_m_and_e() -> None:
    logits, targets = batch()
    for balanced in (False, True):
        mine = CurriculumLoss(lambda m, e: 0.49 * m + 0.7 * e, balanced=balanced, burn_in=0)
        named = npcl(balanced=balanced)
        torch.testing.assert_close(mine(logits, targets), named(logits, targets))
        assert torch.equal(mine.kept.mask, named.kept.mask)


def test_a_loss_of_ones_own_may_rank_and_train() -> None:
    class Doubled(HingeLoss):
        def of_margin(self, margins: torch.Tensor) -> torch.Tensor:
            return 2 * super().of_margin(margins)

    logits, targets = batch()
    doubled = npcl(train=Doubled())
    torch.testing.assert_close(doubled(logits, targets), 2 * npcl(train="hinge")(logits, targets))
    ranked = npcl(rank=Doubled())
    assert ranked(logits, targets).isfinite() and ranked.kept.mask.sum() < npcl_kept(logits, targets)


def npcl_kept(logits: torch.Tensor, targets: torch.Tensor) -> int:
    loss = npcl()
    loss(logits, targets)
    return int(loss.kept.mask.sum())


def test_permuting_rows_permutes_what_is_kept() -> None:
    for seed in range(5):
        logits, targets = batch(seed=seed)
        order = torch.randperm(64, generator=torch.Generator().manual_seed(seed))
        for balanced in (False, True):
            loss = npcl(balanced=balanced)
            loss(logits, targets)
            kept = loss.kept.mask
            loss(logits[order], targets[order])
            assert torch.equal(loss.kept.mask, kept[order]), f"seed {seed}"


def test_rows_that_are_not_contiguous_are_read_right() -> None:
    logits, targets = batch(64, 5)
    loss = npcl()
    expected = loss(logits, targets)
    assert loss(logits.t().contiguous().t(), torch.stack((targets, targets), 1)[:, 0]) == expected


def test_an_empty_batch_is_zero() -> None:
    logits = torch.empty(0, 3, requires_grad=True)
    value = npcl()(logits, torch.empty(0, dtype=torch.int64))
    value.backward()
    assert value == 0 and logits.grad.shape == (0, 3)


def test_the_epoch_must_be_told_if_there_is_a_burn_in() -> None:
    logits, targets = batch()
    loss = CurriculumLoss("npcl", rate=0.3)
    with pytest.raises(RuntimeError, match=r"was not told the epoch: call set_epoch\(epoch\)"):
        loss(logits, targets)
    loss.set_epoch(4)
    loss(logits, targets)
    assert loss.kept.mask.all() and not loss.selects
    loss.set_epoch(5)
    loss(logits, targets)
    assert not loss.kept.mask.all()


def test_the_rate_may_change_and_is_checked() -> None:
    logits, targets = batch()
    loss = npcl()
    loss.rate = 0.6
    torch.testing.assert_close(loss(logits, targets), CurriculumLoss("npcl:0.6", burn_in=0)(logits, targets))
    with pytest.raises(ValueError, match=r"noise rate must be in \[0, 1\], got 1.5"):
        loss.rate = 1.5
    assert loss.rate == 0.6


def test_a_loss_survives_pickling_and_copying() -> None:
    logits, targets = batch()
    loss = npcl(balanced=True, train="weighted:0.25")
    value = loss(logits, targets)
    stored = io.BytesIO()
    torch.save(loss, stored)
    stored.seek(0)
    for twin in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss), torch.load(stored, weights_only=False)):
        assert twin(logits, targets) == value and repr(twin) == repr(loss)
    assert loss.state_dict() == {}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurriculumLoss("npcl"), "threshold npcl needs the noise rate"),
        (lambda: CurriculumLoss("npcl", rate=1.2), r"noise rate must be in \[0, 1\], got 1.2"),
        (lambda: CurriculumLoss("npcl:0.2", rate=0.2), "the noise rate must be given once"),
        (lambda: CurriculumLoss("q", rate=0.2), "threshold q takes no noise rate"),
        (lambda: CurriculumLoss("q:3"), "threshold q must be written without a parameter, got 3"),
        (lambda: CurriculumLoss("nppcl", rate=0.1), "unknown threshold 'nppcl': did you mean npcl?"),
        (lambda: CurriculumLoss(2.5), r"custom threshold per sample must be in \[0, 2\], got 2.5"),
        (lambda: CurriculumLoss(float("nan")), "custom threshold per sample"),
        (lambda: npcl(rank="hinges"), "unknown loss 'hinges': did you mean hinge?"),
        (lambda: npcl(train="gce:0"), r"q of gce must be in \(0, 1\], got 0"),
        (lambda: npcl(train="weighted"), "numbers of loss 'weighted' must be 1, as in weighted:0.5"),
        (lambda: npcl(train="weighted:x"), "number in 'weighted:x' must be like 0.7, got 'x'"),
        (lambda: npcl(scope="world"), "scope must be one of batch, global, got 'world'"),
        (lambda: npcl(burn_in=-1), "burn_in must be a number of epochs >= 0, got -1"),
        (lambda: npcl().set_epoch(-1), "epoch must be a whole number >= 0, got -1"),
        (lambda: sample_loss("truncated-hinge:0.5"), "cap of truncated-hinge must be a finite number >= 1, got 0.5"),
        (lambda: losses.TruncatedGCELoss(k=1.0), r"k of truncated-gce must be in \(0, 1\), got 1.0"),
        (lambda: losses.SymmetricCELoss(alpha=-1), "alpha of symmetric-ce must be a number >= 0, got -1"),
        (lambda: HingeLoss(reduction="max"), "reduction must be one of mean, sum, none, got 'max'"),
        (lambda: EarlyLearningRegulariser(10, 3, beta=1.0), r"beta of elr must be in \[0, 1\), got 1.0"),
        (lambda: npcl()(torch.zeros(3), torch.zeros(3, dtype=torch.int64)), "logits must have 2 dimensions"),
        (lambda: npcl()(torch.zeros(3, 1), torch.zeros(3, dtype=torch.int64)), "number of classes must be at least 2, got 1"),
        (lambda: npcl()(torch.zeros(3, 2), torch.zeros(4, dtype=torch.int64)), r"targets must have shape \(3,\)"),
        (lambda: npcl()(torch.zeros(3, 2), torch.tensor([0, 2, 1])), "target must be in 0..2, got 2 at row 1"),
        (lambda: npcl()(torch.zeros(3, 2), torch.tensor([0, -1, 1])), "target must be in 0..2, got -1 at row 1"),
    ],
)
def test_mistakes_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: npcl()(torch.zeros(3, 2), torch.zeros(3)), "targets must be class numbers of type torch.int64"),
        (lambda: npcl()(torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)), "logits must be floating-point"),
        (lambda: npcl(rank=3), "a loss must be a name or a tares.torch.SampleLoss, got int"),
        (lambda: CurriculumLoss(None), "threshold must be a name, a number or a function"),
    ],
)
def test_wrong_types_are_named(make: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()  # type: ignore[operator]


def test_targets_of_early_learning_by_hand() -> None:
    regulariser = EarlyLearningRegulariser(3, 2, beta=0.7, weight=3.0)
    row = torch.tensor([1])
    regulariser(torch.tensor([[0.8, 0.2]]).log(), row)
    torch.testing.assert_close(regulariser.targets[1], torch.tensor([0.24, 0.06]))
    logits = torch.tensor([[0.4, 0.6]]).log().requires_grad_()
    value = regulariser(logits, row)
    # 0.7 * 0.24 + 0.3 * 0.4 and 0.7 * 0.06 + 0.3 * 0.6
    torch.testing.assert_close(regulariser.targets[1], torch.tensor([0.288, 0.222]))
    doubt = 1 - (0.4 * 0.288 + 0.6 * 0.222)
    assert value.item() == pytest.approx(3 * torch.tensor(doubt).log().item(), abs=1e-6)
    value.backward()
    # d/dt_0 of 3 log(1 - <t, p>) = -3 p_0 (t_0 - <t, p>) / (1 - <t, p>)
    assert logits.grad[0, 0].item() == pytest.approx(-3 * 0.4 * (0.288 - (1 - doubt)) / doubt, abs=1e-6)
    regulariser.eval()
    regulariser(torch.zeros(1, 2), row)
    torch.testing.assert_close(regulariser.targets[1], torch.tensor([0.288, 0.222]))
    assert "targets" in regulariser.state_dict()
    sure = EarlyLearningRegulariser(1, 2, beta=0.0)
    assert sure(torch.tensor([[1e4, -1e4]]), torch.tensor([0])).isfinite()


def test_every_loss_is_finite_at_extreme_logits() -> None:
    for scale in (1e2, 1e3, 1e4):
        rows = torch.tensor([[scale, scale, scale], [-scale, -scale, -scale], [scale, -scale, -scale], [-scale, scale, scale]])
        for name in ("hinge", "soft-hinge", "weighted:0.5", "squared-hinge", "logistic", "sigmoid", "savage", "truncated-hinge",
                     "cross-entropy", "gce", "truncated-gce", "mae", "symmetric-ce"):  # fmt: skip
            logits = rows.clone().requires_grad_()
            values = sample_loss(name, reduction="none")(logits, torch.zeros(4, dtype=torch.int64))
            values.sum().backward()
            assert values.isfinite().all() and (values > -1e-6).all() and logits.grad.isfinite().all(), f"{name} at {scale}"


def test_a_loss_without_a_formula_says_so() -> None:
    with pytest.raises(NotImplementedError, match="must implement per_sample"):
        SampleLoss()(torch.zeros(2, 2), torch.zeros(2, dtype=torch.int64))


def test_without_pytorch_the_message_says_what_to_install() -> None:
    program = "import sys; sys.modules['torch'] = None\nimport tares\nimport tares.torch"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.strip().endswith("tares.torch needs PyTorch: pip install 'tares[torch]'")
    loaded = "import sys, tares; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded]).returncode == 0, "import tares must not import torch"
