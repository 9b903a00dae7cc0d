"""The recorder: margins per row over the epochs, and the audit of them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tares.torch import CurriculumLoss, Recorder, margin  # noqa: E402


def test_it_adds_up_what_it_sees() -> None:
    draw = torch.Generator().manual_seed(0)
    recorder, sums, kept = Recorder(rows=10), torch.zeros(10), torch.zeros(10, dtype=torch.int64)
    loss = CurriculumLoss("npcl", rate=0.4, burn_in=0)
    for _ in range(6):
        index = torch.randperm(9, generator=draw)[:5]  # row 9 is never seen
        logits, targets = torch.randn(5, 3, generator=draw), torch.randint(3, (5,), generator=draw)
        loss(logits, targets)
        recorder.see(index, logits, targets, loss.kept.mask)
        sums[index] += margin(logits, targets)
        kept[index] += loss.kept.mask
    seen = recorder.times_seen
    assert seen.sum() == 30 and torch.equal(recorder.times_kept, kept) and 0 < kept.sum() < 30
    torch.testing.assert_close(recorder.mean_margin[seen > 0], (sums / seen)[seen > 0])
    assert recorder.mean_margin[9].isnan()
    twin = Recorder(rows=10)
    twin.load_state_dict(recorder.state_dict())
    assert torch.equal(twin.times_kept, kept)


def test_the_audit_finds_the_rows_whose_margin_stays_low() -> None:
    draw = torch.Generator().manual_seed(1)
    rows, classes = 600, 4
    truth = torch.randint(classes, (rows,), generator=draw)
    wrong = torch.rand(rows, generator=draw) < 0.2
    given = torch.where(wrong, (truth + 1) % classes, truth)
    recorder = Recorder(rows=rows + 3)  # three rows are never seen
    for _ in range(4):
        logits = 4 * torch.nn.functional.one_hot(truth, classes) + torch.randn(rows, classes, generator=draw)
        recorder.see(torch.arange(rows), logits, given)
    found = recorder.audit(torch.cat((given, torch.zeros(3, dtype=torch.int64))))
    assert found.noise_rate == pytest.approx(wrong.float().mean().item(), abs=0.02)
    low, high = found.noise_rate_interval
    assert low <= found.noise_rate <= high
    suspects = found.suspects
    assert set(suspects["row"]) == set(wrong.nonzero().squeeze(1).tolist())
    assert (suspects["suggested"] == truth[suspects["row"]].numpy()).mean() > 0.95
    assert (suspects["mean_margin"][1:] >= suspects["mean_margin"][:-1]).all()
    assert (suspects["times_seen"] == 4).all() and (suspects["times_kept"] == 4).all()
    assert "600 rows" in repr(found)
    assert found.is_suspect.sum() == len(found) == len(found.to_pandas()) == found.to_arrow().num_rows
    assert found.is_suspect[suspects["row"]].all()
    corrected = found.corrected
    assert (corrected[suspects["row"]] == suspects["suggested"]).all() and (corrected[~found.is_suspect][:-3] == given[~wrong].numpy()).all()
    with pytest.raises(TypeError, match="labels must be class numbers.*got names such as '1'"):
        recorder.audit(["1"] * (rows + 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Recorder(rows=0), "rows must be at least 1, got 0"),
        (lambda: Recorder(rows=4).audit([0, 1]), "labels must have 4 entries"),
        (lambda: Recorder(rows=4).audit([0, 1, 0, 1]), "mean margins must be at least 10, got 0"),
        (lambda: Recorder(rows=4).see(torch.arange(3), torch.zeros(2, 2), torch.tensor([0, 1])), r"index must have shape \(2,\)"),
    ],
)
def test_mistakes_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
