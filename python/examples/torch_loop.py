"""A plain PyTorch loop on digits with half of the labels wrong: 0.918 of the test pictures right instead of 0.794 with cross-entropy, in ten seconds.

The curriculum loss takes the place of ``nn.CrossEntropyLoss()``; a recorder collects margins, and their audit names the wrong labels.
"""

from __future__ import annotations

import torch
from noisy_digits import RATE, Digits, accuracy, network, noisy_digits
from tares.torch import CurriculumLoss, HistoryAudit, Recorder
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 40


def train(digits: Digits, criterion: torch.nn.Module, seed: int = 1) -> tuple[torch.nn.Module, Recorder]:
    model = network(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    recorder = Recorder(rows=len(digits.given))
    rows = TensorDataset(torch.arange(len(digits.given)), digits.inputs, digits.given)
    loader = DataLoader(rows, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(seed))
    for epoch in range(EPOCHS):
        if isinstance(criterion, CurriculumLoss):
            criterion.set_epoch(epoch)  # the first five epochs keep everything
        for index, inputs, targets in loader:
            optimizer.zero_grad()
            logits = model(inputs)
            criterion(logits, targets).backward()
            optimizer.step()
            kept = criterion.kept.mask if isinstance(criterion, CurriculumLoss) else None
            recorder.see(index, logits, targets, kept)
    return model, recorder


def main() -> tuple[float, float, HistoryAudit]:
    digits = noisy_digits()
    plain, _ = train(digits, torch.nn.CrossEntropyLoss())
    robust, recorder = train(digits, CurriculumLoss("npcl", rate=RATE))
    found = recorder.audit(digits.given)
    suspects = torch.from_numpy(found.suspects["row"])
    wrong = digits.given != digits.truth
    print(f"cross-entropy:   {accuracy(plain, digits):.3f} of the test pictures right")
    print(f"curriculum loss: {accuracy(robust, digits):.3f}")
    print(f"audit: noise rate {found.noise_rate:.3f} (in truth {wrong.float().mean():.3f}), {len(suspects)} suspects,")
    print(f"       {wrong[suspects].float().mean():.3f} of them wrong, {wrong[suspects].sum() / wrong.sum():.3f} of the wrong found")
    return accuracy(plain, digits), accuracy(robust, digits), found


if __name__ == "__main__":
    main()
