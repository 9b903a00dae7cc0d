"""The networks of tares against PyTorch: same weights, same batch, so the same logits and the same gradients.

Reads what `cargo run --release -p tares --example dump_networks -- DIR` wrote (its output on standard input), builds each
network afresh with torch.nn, and computes in f64. Printed is the difference of tares (f32) from that, and after the slash
that of PyTorch in f32: norm of the difference relative to the norm. Exit code 1 if logits of tares are off by
1e-4 or gradients by 5e-2. Winograd convolutions (tares-kernels) round two to four times more than plain ones; a ReLU near
its kink then sometimes falls on the other side, which moves a gradient of these small batches by 1e-3 to 1e-2, in
PyTorch as in tares. A leaky ReLU of slope 0.011 instead of 0.01 shows as 3e-3 in the logits.
"""
import copy
import sys

import numpy
import torch
from torch import nn


def conv(a, b, kernel=3, stride=1, padding=1, bias=False):
    return nn.Conv2d(a, b, kernel, stride, padding, bias=bias)


class Mlp(nn.Module):
    def __init__(self, size, widths):
        super().__init__()
        sizes = [size, *widths, 10]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


def lenet(channels):
    return nn.Sequential(nn.Conv2d(channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def cnn9(channels, width=128):
    layers, a = [], channels
    for b, padding in [(width, 1)] * 3 + [(2 * width, 1)] * 3 + [(4 * width, 0), (2 * width, 0), (width, 0)]:
        layers += [conv(a, b, padding=padding, bias=True), nn.BatchNorm2d(b), nn.LeakyReLU(0.01)]
        a = b
        if len(layers) in (9, 19):
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


class Basic(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.first = nn.Sequential(conv(a, b, stride=stride), nn.BatchNorm2d(b), nn.ReLU())
        self.second = nn.Sequential(conv(b, b), nn.BatchNorm2d(b))
        self.shortcut = nn.Identity()
        if stride != 1 or a != b:
            self.shortcut = nn.Sequential(conv(a, b, 1, stride, 0), nn.BatchNorm2d(b))

    def forward(self, x):
        return (self.second(self.first(x)) + self.shortcut(x)).relu()


def resnet(channels, blocks):
    layers, a = [conv(channels, 64), nn.BatchNorm2d(64), nn.ReLU()], 64
    for stage, (count, b) in enumerate(zip(blocks, [64, 128, 256, 512])):
        for block in range(count):
            layers.append(Basic(a, b, 2 if stage > 0 and block == 0 else 1))
            a = b
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Dense(nn.Module):
    def __init__(self, a, growth):
        super().__init__()
        self.new = nn.Sequential(nn.BatchNorm2d(a), nn.ReLU(), conv(a, 4 * growth, 1, padding=0), nn.BatchNorm2d(4 * growth),
                                 nn.ReLU(), conv(4 * growth, growth))

    def forward(self, x):
        return torch.cat([x, self.new(x)], 1)


class DenseNet(nn.Module):
    """Registered in the order tares stores its fields: stem, blocks, transitions, last norm, head."""

    def __init__(self, channels, depth, growth):
        super().__init__()
        a = 2 * growth
        self.stem = conv(channels, a)
        blocks, transitions = [], []
        for number in range(3):
            block = []
            for _ in range((depth - 4) // 6):
                block.append(Dense(a, growth))
                a += growth
            blocks.append(nn.Sequential(*block))
            if number < 2:
                transitions.append(nn.Sequential(nn.BatchNorm2d(a), nn.ReLU(), conv(a, a // 2, 1, padding=0), nn.AvgPool2d(2)))
                a //= 2
        self.blocks, self.transitions = nn.ModuleList(blocks), nn.ModuleList(transitions)
        self.last, self.head = nn.BatchNorm2d(a), nn.Linear(a, 10)

    def forward(self, x):
        x = self.stem(x)
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number < 2:
                x = self.transitions[number](x)
        return self.head(self.last(x).relu().mean((2, 3)))


def vgg(channels, convolutions):
    layers, a = [], channels
    for count, b in zip(convolutions, [64, 128, 256, 512, 512]):
        for _ in range(count):
            layers += [conv(a, b, bias=True), nn.BatchNorm2d(b), nn.ReLU()]
            a = b
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def build(name, channels, side):
    kind, _, numbers = name.partition(":")
    numbers = [int(number) for number in numbers.split("-") if number]
    return {
        "mlp": lambda: Mlp(channels * side * side, numbers), "lenet": lambda: lenet(channels), "cnn9": lambda: cnn9(channels, *numbers),
        "resnet18": lambda: resnet(channels, [2, 2, 2, 2]), "resnet34": lambda: resnet(channels, [3, 4, 6, 3]),
        "densenet": lambda: DenseNet(channels, *numbers), "vgg11": lambda: vgg(channels, [1, 1, 2, 2, 2]),
        "vgg13": lambda: vgg(channels, [2, 2, 2, 2, 2]), "vgg16": lambda: vgg(channels, [2, 2, 3, 3, 3]),
    }[kind]()


def main(directory):
    agree = True
    print("network,logits in training,logits judged,gradients")
    for line in sys.stdin:
        name, channels, side, batch = line.split()
        channels, side, batch = int(channels), int(side), int(batch)
        read = lambda part: torch.from_numpy(numpy.fromfile(f"{directory}/{name.replace(':', '-')}.{part}.f32", "<f4"))
        model, values, at = build(name, channels, side), read("parameters"), 0
        for key, entry in model.state_dict().items():
            if key.endswith("num_batches_tracked"):
                continue
            part = values[at:at + entry.numel()]
            at += entry.numel()
            # Burn stores dense weights [in, out], PyTorch [out, in].
            entry.copy_(part.view(entry.shape[::-1]).T if entry.dim() == 2 else part.view(entry.shape))
        assert at == len(values), f"{name}: {len(values)} numbers in tares, {at} in PyTorch"
        input, labels = read("input").view(batch, channels, side, side), read("labels").long()
        exact, plain = outcome(model.double(), input.double(), labels), outcome(model.float(), input, labels)
        cells = []
        for part, expected, other in zip(["logits", "judged", "gradients"], exact, plain):
            ours, theirs = (((x.double() - expected).norm() / expected.norm()).item() for x in (read(part), other))
            cells.append(f"{ours:.1e}/{theirs:.1e}")
            agree &= ours < (5e-2 if part == "gradients" else 1e-4)
        print(name + "," + ",".join(cells), flush=True)
    if not agree:
        sys.exit("the networks differ")


def outcome(model, input, labels):
    """Logits in training, logits in evaluation, gradients."""
    model.zero_grad()
    start = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        judged = model.eval()(input)
    logits = model.train()(input)
    nn.functional.cross_entropy(logits, labels).backward()
    model.load_state_dict(start)  # training moved the running statistics
    slopes = torch.cat([(p.grad.T if p.dim() == 2 else p.grad).reshape(-1) for p in model.parameters()])
    return logits.detach().reshape(-1), judged.reshape(-1), slopes


if __name__ == "__main__":
    main(sys.argv[1])
