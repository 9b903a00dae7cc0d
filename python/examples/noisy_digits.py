"""The data of these examples: scikit-learn's handwritten digits, with half of the training labels wrong."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import Tensor

RATE = 0.5  # the share of training labels that are wrong


@dataclass(frozen=True)
class Digits:
    """1,297 training and 500 test pictures of 8 x 8 pixels."""

    inputs: Tensor
    given: Tensor
    truth: Tensor
    test_inputs: Tensor
    test_truth: Tensor


def noisy_digits(seed: int = 1) -> Digits:
    """The digits in an order drawn from the seed; a wrong label is one of the nine others, all equally likely."""
    pixels, labels = load_digits(return_X_y=True)
    draw = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=draw)
    inputs = torch.from_numpy(pixels).float()[order] / 16
    truth = torch.from_numpy(labels).long()[order]
    given = truth[:-500].clone()
    wrong = torch.rand(len(given), generator=draw) < RATE
    given[wrong] = (given[wrong] + torch.randint(1, 10, (int(wrong.sum()),), generator=draw)) % 10
    return Digits(inputs[:-500], given, truth[:-500], inputs[-500:], truth[-500:])


def network(seed: int = 1) -> torch.nn.Sequential:
    """A small network."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    )


@torch.no_grad()
def accuracy(model: torch.nn.Module, digits: Digits) -> float:
    """The share of test pictures that the model answers right."""
    return float((model(digits.test_inputs).argmax(1) == digits.test_truth).float().mean().item())
