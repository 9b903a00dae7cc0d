"""How much the convolutions of tares and of PyTorch round, layer by layer: `measure.py CONVOLVE CSV [--layers NAME,...]`.

Every convolution of cnn9, ResNet-18, VGG-16 and DenseNet-BC-100-12 that differs from the others in its shape, with a batch of 32 pictures of
3×32×32. Its output, the gradient to its input and the gradient to its weights are computed from the same 32-bit numbers by tares, by PyTorch in
its default form and with channels_last, and by PyTorch in double precision. An error is the norm of the difference from the latter over its norm; `ratio` is ours over that of PyTorch's more exact form.

The operands are as large as in training: inputs are pixels in [0, 1] or what a ReLU lets through of normal numbers, so their mean is not 0; weights
are He's; gradients are normal numbers of 1e-4.
"""
import argparse
import csv
import datetime
import os
import platform
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
from check import build  # noqa: E402

BATCH, SIDE = 32, 32
NETWORKS = ["cnn9", "resnet18", "vgg16", "densenet:100-12"]
PARTS = ["output", "to_input", "to_weights"]
FORMS = {"default": torch.contiguous_format, "channels_last": torch.channels_last}


def layers():
    """Shape → networks that have it, in the order in which they meet it."""
    found = {}
    for name in NETWORKS:
        network = build(name, 3, SIDE).eval()

        def note(layer, inputs, _, name=name):
            shape = (*inputs[0].shape[1:], layer.out_channels, layer.kernel_size[0], layer.stride[0], layer.padding[0])
            found.setdefault(shape, [])
            if name not in found[shape]:
                found[shape].append(name)

        for module in network.modules():
            if isinstance(module, nn.Conv2d):
                module.register_forward_hook(note)
        with torch.no_grad():
            network(torch.zeros(2, 3, SIDE, SIDE))
    return found


def operands(shape):
    """Input, weights, and the gradient of the output."""
    channels, height, width, outputs, kernel, stride, padding = shape
    draw = torch.Generator().manual_seed(sum(a * b for a, b in zip(shape, [1, 7, 49, 343, 3, 11, 13])))
    x = (BATCH, channels, height, width)
    x = torch.rand(x, generator=draw) if channels == 3 else torch.randn(x, generator=draw).relu()
    weight = torch.randn(outputs, channels, kernel, kernel, generator=draw) * (2 / (channels * kernel**2)) ** 0.5
    out = [(side + 2 * padding - kernel) // stride + 1 for side in (height, width)]
    return x, weight, 1e-4 * torch.randn(BATCH, outputs, *out, generator=draw)


def by_pytorch(x, weight, dy, stride, padding, layout=torch.contiguous_format):
    x, weight, dy = (t.clone(memory_format=layout) for t in (x, weight, dy))
    x.requires_grad_(), weight.requires_grad_()
    y = nn.functional.conv2d(x, weight, stride=stride, padding=padding)
    return y.detach(), *torch.autograd.grad(y, (x, weight), dy)


def by_tares(process, directory, x, weight, dy, stride, padding):
    for name, tensor in [("x", x), ("weight", weight), ("dy", dy)]:
        tensor.numpy().tofile(os.path.join(directory, name))
    print(*x.shape, weight.shape[0], weight.shape[2], stride, padding, file=process.stdin, flush=True)
    if process.stdout.readline() != "done\n":
        sys.exit(f"our side ended with code {process.wait()}")
    read = lambda name, like: torch.from_numpy(numpy.fromfile(os.path.join(directory, name), "<f4")).view(like.shape)
    return [read(name, like) for name, like in [("y", dy), ("dx", x), ("dweight", weight)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("convolve", help="the program of crates/tares-kernels/examples/convolve.rs")
    parser.add_argument("csv", help="the table to write")
    parser.add_argument("--machine", default=platform.node(), help="what the table calls this machine")
    parser.add_argument("--layers", default="", help="only layers whose text contains this, as 3x3-256-256-at-8")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([options.convolve, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for shape, networks in layers().items():
            channels, height, _, outputs, kernel, stride, padding = shape
            layer = f"{kernel}x{kernel}-{channels}-{outputs}-at-{height}" + (f"-stride-{stride}" if stride > 1 else "") + ("-valid" if kernel > 1 and not padding else "")
            if options.layers not in layer:
                continue
            given = operands(shape)
            exact = by_pytorch(*(t.double() for t in given), stride, padding)
            error = lambda parts: [((part.double() - right).norm() / right.norm()).item() for part, right in zip(parts, exact)]
            ours = error(by_tares(process, directory, *given, stride, padding))
            theirs = {form: error(by_pytorch(*given, stride, padding, layout)) for form, layout in FORMS.items()}
            for part, name in enumerate(PARTS):
                peers = {form: errors[part] for form, errors in theirs.items()}
                ratio = ours[part] / min(peers.values())
                row = {"layer": layer, "networks": " ".join(networks), "part": name, "ours": f"{ours[part]:.2e}"}
                row |= {form: f"{value:.2e}" for form, value in peers.items()} | {"ratio": f"{ratio:.2f}"}
                rows.append(row)
                print(*row.values(), sep=",", flush=True)
        process.stdin.close()
    about = {"date": datetime.date.today().isoformat(), "machine": options.machine, "pytorch": torch.__version__}
    with open(options.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *about])
        writer.writeheader()
        writer.writerows(row | about for row in rows)
    for part in PARTS:
        ratios = sorted(float(row["ratio"]) for row in rows if row["part"] == part)
        above = sum(ratio > 4 for ratio in ratios)
        print(f"{part}: ours over PyTorch's: median {ratios[len(ratios) // 2]:.2f}, largest {ratios[-1]:.2f}, above 4 in {above} of {len(ratios)} layers", file=sys.stderr)


main()
