"""The networks of the comparison in PyTorch, filled with the weights that our side wrote."""
import json
import struct

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def read(path):
    """Tensors of a safetensors file by name; plain convolutions are called like those of a block."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        body = file.read()
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        start, end = about["data_offsets"]
        values = np.frombuffer(body[start:end], dtype="<f4").reshape(about["shape"])
        for plain in ("first", "second"):
            name = f"{plain}.conv.{name[len(plain) + 1:]}" if name in (f"{plain}.weight", f"{plain}.bias") else name
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


def take(parameter, w, name, transposed=False):
    """Fills a parameter with the weights called `name` and remembers the name, so that gradients can be compared."""
    parameter.data = w[name].t().contiguous() if transposed else w[name]
    parameter.source, parameter.transposed = name, transposed


def gradients(network):
    """The gradient of every parameter by the name of its weights, in the layout of the file the weights came from."""
    return {p.source: (p.grad.t() if p.transposed else p.grad).detach().clone() for p in network.parameters()}


def norm(w, name):
    layer = nn.BatchNorm2d(len(w[f"{name}.norm.gamma"]), eps=1e-5, momentum=0.1)
    take(layer.weight, w, f"{name}.norm.gamma")
    take(layer.bias, w, f"{name}.norm.beta")
    return layer


class Block(nn.Module):
    """Convolution, batch norm if its weights are there, activation."""

    def __init__(self, w, name, stride=1, padding=1, slope=None):
        super().__init__()
        out, into, kernel, _ = w[f"{name}.conv.weight"].shape
        has_bias = f"{name}.conv.bias" in w
        self.conv = nn.Conv2d(into, out, kernel, stride, padding, bias=has_bias)
        take(self.conv.weight, w, f"{name}.conv.weight")
        if has_bias:
            take(self.conv.bias, w, f"{name}.conv.bias")
        self.norm = None
        if f"{name}.norm.gamma" in w:
            self.norm = norm(w, name)
        self.slope = slope

    def forward(self, x):
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x)
        if self.slope is None:
            return x
        return F.relu(x, inplace=True) if self.slope == 0 else F.leaky_relu(x, self.slope, inplace=True)


def dense(w, name):
    layer = nn.Linear(*w[f"{name}.weight"].shape)
    take(layer.weight, w, f"{name}.weight", transposed=True)
    take(layer.bias, w, f"{name}.bias")
    return layer


class Mlp(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.layers = nn.ModuleList([dense(w, "hidden.0"), dense(w, "hidden.1")])
        self.head = dense(w, "head")

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


class SmallCnn(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.first, self.second = Block(w, "first", slope=0), Block(w, "second", slope=0)
        self.dense, self.head = dense(w, "dense"), dense(w, "head")

    def forward(self, x):
        x = F.max_pool2d(self.second(F.max_pool2d(self.first(x), 2)), 2)
        return self.head(F.relu(self.dense(x.flatten(1))))


class LeNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.first, self.second = Block(w, "first", padding=2, slope=0), Block(w, "second", padding=0, slope=0)
        self.dense1, self.dense2, self.head = dense(w, "dense1"), dense(w, "dense2"), dense(w, "head")

    def forward(self, x):
        x = F.max_pool2d(self.second(F.max_pool2d(self.first(x), 2)), 2).flatten(1)
        return self.head(F.relu(self.dense2(F.relu(self.dense1(x)))))


class Cnn9(nn.Module):
    def __init__(self, w):
        super().__init__()
        stage = lambda name, padding: nn.Sequential(*[Block(w, f"{name}.{i}", 1, padding, 0.01) for i in range(3)])
        self.early, self.middle, self.late = stage("early", 1), stage("middle", 1), stage("late", 0)
        self.head = dense(w, "head")

    def forward(self, x):
        x = F.max_pool2d(self.early(x), 2)
        x = F.max_pool2d(self.middle(x), 2)
        return self.head(self.late(x).mean((2, 3)))


class Basic(nn.Module):
    def __init__(self, w, name, stride):
        super().__init__()
        self.first, self.second = Block(w, f"{name}.first", stride, slope=0), Block(w, f"{name}.second")
        has = f"{name}.shortcut.conv.weight" in w
        self.shortcut = Block(w, f"{name}.shortcut", stride, padding=0) if has else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.shortcut(x), inplace=True)


class ResNet18(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.stem = Block(w, "stem", slope=0)
        blocks = [Basic(w, f"stages.{s}.{b}", 2 if s > 0 and b == 0 else 1) for s in range(4) for b in range(2)]
        self.blocks, self.head = nn.Sequential(*blocks), dense(w, "head")

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class NormConv(nn.Module):
    """Batch norm, ReLU, convolution: DenseNet's order."""

    def __init__(self, w, name, padding=0):
        super().__init__()
        out, into, kernel, _ = w[f"{name}.conv.weight"].shape
        self.norm, self.conv = norm(w, name), nn.Conv2d(into, out, kernel, 1, padding, bias=False)
        take(self.conv.weight, w, f"{name}.conv.weight")

    def forward(self, x):
        return self.conv(F.relu(self.norm(x), inplace=True))


class DenseLayer(nn.Module):
    def __init__(self, w, name):
        super().__init__()
        self.bottleneck, self.grow = NormConv(w, f"{name}.bottleneck"), NormConv(w, f"{name}.grow", 1)

    def forward(self, x):
        return torch.cat([x, self.grow(self.bottleneck(x))], 1)


class DenseNet(nn.Module):
    """DenseNet-BC-100-12: three blocks of sixteen layers."""

    def __init__(self, w):
        super().__init__()
        self.stem = Block(w, "stem")
        block = lambda b: nn.Sequential(*[DenseLayer(w, f"blocks.{b}.{layer}") for layer in range(16)])
        self.blocks = nn.ModuleList([block(b) for b in range(3)])
        self.transitions = nn.ModuleList([NormConv(w, f"transitions.{t}") for t in range(2)])
        self.last, self.head = norm(w, "last"), dense(w, "head")

    def forward(self, x):
        x = self.stem(x)
        for block, transition in zip(self.blocks, self.transitions):
            x = F.avg_pool2d(transition(block(x)), 2)
        return self.head(F.relu(self.last(self.blocks[2](x)), inplace=True).mean((2, 3)))


class Vgg16(nn.Module):
    def __init__(self, w):
        super().__init__()
        stage = lambda s, count: nn.Sequential(*[Block(w, f"stages.{s}.{i}", slope=0) for i in range(count)])
        self.stages = nn.ModuleList([stage(s, count) for s, count in enumerate([2, 2, 3, 3, 3])])
        self.head = dense(w, "head")

    def forward(self, x):
        for stage in self.stages:
            x = F.max_pool2d(stage(x), 2)
        return self.head(x.flatten(1))


# class, and shape of a batch
CASES = {
    "mlp": (Mlp, (128, 1, 28, 28)),
    "small-cnn": (SmallCnn, (128, 1, 28, 28)),
    "lenet": (LeNet, (128, 1, 28, 28)),
    "cnn9": (Cnn9, (32, 3, 32, 32)),
    "cnn9-128": (Cnn9, (128, 3, 32, 32)),
    "resnet18": (ResNet18, (32, 3, 32, 32)),
    "densenet": (DenseNet, (32, 3, 32, 32)),
    "vgg16": (Vgg16, (32, 3, 32, 32)),
}
