"""The loss of the method ``tares``: numbers by hand, and wrong labels found in a small training."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tares.torch import MemoryLoss  # noqa: E402


def test_beliefs_by_hand() -> None:
    # Four rows remembered as class 0 and two as class 1, as in the test of the core: mistakes are counted on the surer half.
    labels = torch.tensor([0, 1, 0, 1, 0, 0])
    loss = MemoryLoss(labels, classes=2, epochs=2, beta=0.0, hidden=0.0)
    answers = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.95, 0.05], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8]])
    loss.set_epoch(0)
    value = loss(answers.log(), torch.arange(6))
    # The burn-in is plain cross-entropy.
    expected = torch.nn.functional.cross_entropy(answers.log(), labels)
    torch.testing.assert_close(value, expected)
    assert not loss.wrong().any() and loss.rate() == 0
    loss.set_epoch(1)  # the end of the burn-in
    loss.set_epoch(2)  # the sharpness is 2 by now
    torch.testing.assert_close(loss.mistakes, torch.tensor([[0.875, 0.125], [0.5, 0.5]]))
    # Row 1: 0.36 * 0.125 against 0.16 * 0.5
    torch.testing.assert_close(loss.beliefs()[1], torch.tensor([0.36, 0.64]), atol=1e-4, rtol=0)
    # Row 3: 0.49 * 0.125 against 0.09 * 0.5. Row 4 has label 0: 0.01 * 0.875 against 0.81 * 0.5
    assert loss.wrong().tolist() == [False, False, False, True, True, True]


def test_the_label_is_taught_only_as_far_as_it_is_believed() -> None:
    loss = MemoryLoss(torch.tensor([0, 0, 0, 1, 1, 1, 1]), classes=2, epochs=3, hidden=0.0)
    logits = torch.tensor([[3.0, 0.0]] * 4 + [[0.0, 3.0]] * 3)
    for epoch in range(3):
        loss.set_epoch(epoch)
        given = logits.clone().requires_grad_()
        loss(given, torch.arange(7)).backward()
    assert loss.wrong().tolist() == [False] * 3 + [True] + [False] * 3
    # The gradient is (p - q) / 7.
    torch.testing.assert_close(given.grad, (logits.softmax(1) - loss.beliefs()) / 7)


def test_hidden_rows_are_not_learnt_and_end_the_burn_in_once_labels_are_memorised() -> None:
    labels = torch.arange(200) % 2
    loss = MemoryLoss(labels, classes=2, epochs=20)
    assert int(loss.hidden.sum()) == 20
    # Visible labels are repeated, hidden ones are answered with class 0.
    answered = torch.where(loss.hidden, 0, labels)
    logits = (2.0 * torch.nn.functional.one_hot(answered, 2)).requires_grad_()
    loss.set_epoch(0)
    loss(logits, torch.arange(200)).backward()
    assert logits.grad is not None
    assert ((logits.grad.abs().sum(1) < 1e-7) == loss.hidden).all()
    loss.set_epoch(1)
    assert int(loss.burnt_in) == 1
    fixed = MemoryLoss(labels, classes=2, epochs=20, hidden=0.0)
    fixed.memory.copy_(loss.memory)
    fixed.set_epoch(1)
    assert int(fixed.burnt_in) == -1
    fixed.set_epoch(6)
    assert int(fixed.burnt_in) == 6
    # The hidden rows show more mistakes than all rows do.
    torch.testing.assert_close(loss.mistakes.sum(1), torch.ones(2))
    assert loss.mistakes[0, 1] > fixed.mistakes[0, 1]


def answered(right: float, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """1,000 rows of four classes, the later the harder: their classes, and the logits of a network that errs on the harder ones."""
    truth, hardness = torch.arange(1000) % 4, torch.arange(1000) / 1000
    known = torch.rand(1000, generator=generator) < torch.where(hardness < 0.3, 0.95, right)
    sure = (0.9 - 0.5 * hardness)[:, None]
    best = torch.nn.functional.one_hot(torch.where(known, truth, (truth + 1) % 4), 4)
    return truth, (best * sure + (1 - best) * (1 - sure) / 3).log()


def trained(labels: torch.Tensor, logits: torch.Tensor, epochs: int) -> MemoryLoss:
    loss = MemoryLoss(labels, classes=4, epochs=10)
    for epoch in range(epochs):
        loss.set_epoch(epoch)
        loss(logits, torch.arange(1000))
    loss.set_epoch(epochs)
    return loss


def test_hard_rows_keep_their_labels_and_wrong_labels_of_easy_rows_do_not() -> None:
    generator = torch.Generator().manual_seed(3)
    truth, logits = answered(0.33, generator)
    for epochs in range(1, 11):
        loss = trained(truth, logits, epochs)
        assert int(loss.burnt_in) == -1 and not loss.wrong().any() and loss.rate() == 0
        assert bool(loss.undecided) == (epochs < 6)
        # From a saved state the same is decided.
        again = MemoryLoss(truth, classes=4, epochs=10)
        again.load_state_dict(loss.state_dict())
        again.set_epoch(epochs)
        assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(again.state_dict().values(), loss.state_dict().values()))
    _, logits = answered(1.0, generator)
    labels = torch.where(torch.rand(1000, generator=generator) < 0.3, (truth + 2) % 4, truth)
    loss = trained(labels, logits, 10)
    # Of the easiest rows, the answers to a twentieth are wrong.
    assert int(loss.burnt_in) == 3
    easy = logits.argmax(1) == truth
    assert torch.equal(loss.wrong()[easy], (labels != truth)[easy])
    assert loss.rate() == pytest.approx((labels != truth).float().mean().item(), abs=0.06)


def test_few_rows_are_never_corrected() -> None:
    labels = torch.arange(399) % 4
    loss = MemoryLoss(labels, classes=4, epochs=10)  # 39 hidden rows for four classes
    contradiction = torch.nn.functional.one_hot((labels + 1) % 4, 4) * 5.0
    for epoch in range(10):
        loss.set_epoch(epoch)
        value = loss(contradiction, torch.arange(399))
        torch.testing.assert_close(value, torch.nn.functional.cross_entropy(contradiction, labels))
        assert not loss.wrong().any()


def test_state_survives_and_eval_remembers_nothing() -> None:
    loss = MemoryLoss(torch.tensor([0, 1]), classes=2, epochs=4, hidden=0.0)
    loss.set_epoch(0)
    loss(torch.randn(2, 2), torch.tensor([1, 0]))
    loss.set_epoch(2)
    again = MemoryLoss(torch.tensor([0, 1]), classes=2, epochs=4, hidden=0.0)
    again.load_state_dict(loss.state_dict())
    assert torch.equal(again.beliefs(), loss.beliefs())
    before = loss.memory.clone()
    loss.eval()
    loss(torch.randn(2, 2), torch.tensor([1, 0]))
    assert torch.equal(loss.memory, before)
    assert loss(torch.tensor([[1e4, -1e4], [-1e4, 1e4]]), torch.tensor([0, 1])).isfinite()


def test_wrong_labels_of_a_small_training_are_found_and_not_learnt() -> None:
    generator = torch.Generator().manual_seed(3)
    truth = torch.arange(600) % 3
    inputs = torch.randn(600, 2, generator=generator) * 0.5 + 3 * torch.tensor([[0.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])[truth]
    flipped = torch.rand(600, generator=generator) < 0.4
    labels = torch.where(flipped, (truth + torch.randint(1, 3, (600,), generator=generator)) % 3, truth)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss = MemoryLoss(labels, classes=3, epochs=20)
    for epoch in range(20):
        loss.set_epoch(epoch)
        for index in torch.randperm(600, generator=generator).split(60):
            optimiser.zero_grad()
            loss(model(inputs[index]), index).backward()
            optimiser.step()
    assert (model(inputs).argmax(1) == truth).float().mean() > 0.97
    wrong = labels != truth
    assert (loss.wrong() == wrong).float().mean() > 0.97
    assert loss.rate() == pytest.approx(wrong.float().mean().item(), abs=0.05)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"beta": 1.0}, r"beta of a memory must be in \[0, 1\), got 1.0"),
        ({"sharpness": 0.5}, "sharpness of a memory must be at least 1, got 0.5"),
        ({"surest": 0.0}, r"surest of a memory must be in \(0, 1\], got 0.0"),
        ({"burn_in": -1}, r"burn_in of a memory must be in \[0, 1\], got -1"),
        ({"rise": 2.0}, r"rise of a memory must be in \[0, 1\], got 2.0"),
        ({"known": -0.5}, r"known of a memory must be in \[0, 1\], got -0.5"),
        ({"decide": 2.0}, r"decide of a memory must be in \[0, 1\], got 2.0"),
        ({"hidden": 1.0}, r"hidden of a memory must be in \[0, 1\), got 1.0"),
        ({"epochs": 0}, "epochs of a memory must be at least 1, got 0"),
        ({"classes": 2}, r"labels must be in 0..2, got 0 to 2"),
    ],
)
def test_bad_values_are_refused(keywords: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MemoryLoss(torch.tensor([0, 1, 2]), **{"classes": 3, "epochs": 9, **keywords})  # type: ignore[arg-type]


def test_logits_of_another_shape_are_refused() -> None:
    loss = MemoryLoss(torch.tensor([0, 1, 2]), classes=3, epochs=9)
    with pytest.raises(ValueError, match=r"logits must have shape \(2, 3\)"):
        loss(torch.zeros(2, 4), torch.tensor([0, 1]))
