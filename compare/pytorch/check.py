"""Do both sides compute the same? `check.py step CASE DIR LOSS LOSS ...`, or `check.py epoch NETWORK DATA DIR LOSS LOSS ...` (an epoch's first steps).

Our side has written the gradients of its first step to DIR, its losses of plain SGD steps are the arguments. Here the same steps are made in
double precision, and then a few more times in double precision with the errors that single precision may make put in on purpose: after every dense
layer and convolution, forward and backward, each number is off by `GROWTH · √n · u` of the typical number of its tensor (n: length of the sums of
that layer, u: unit roundoff). Single precision may deviate by as much as these runs do, times ROOM. README.md gives the reasons.

Prints one line of JSON: `agrees`, and how much of the allowed distance was used by our gradients (`gradient`, at the weights `where`), by our losses
(`loss`), and by PyTorch's own single precision (`peer_gradient`, `peer_loss`); `seen`: the change of one weight's gradient that would be noticed in
any layer, as a part of the layer's largest gradient, and `seen_everywhere`: that of all gradients of a layer, as a part of their root mean square.
"""
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from epoch import BATCH, NETWORKS, RATE as NOISE, idx, npcl
from networks import CASES, gradients, read
from peer import read_batches
from torch import nn

UNIT = 2.0**-24  # unit roundoff of single precision
GROWTH = 10  # more than Winograd's transforms enlarge rounding; elsewhere a margin, so that activations change sides in every draw
ROOM = 4  # the largest of a few draws is not the largest possible
DRAWS, DEEP_DRAWS = 12, 3  # small networks need more draws until an activation changes sides; deep ones have many in each
RATE = 0.01  # learning rate, as in examples/sgd_steps


def blur(values, size, draw):
    """Every number off by `size` times the root mean square of all."""
    scale = size * values.square().mean().sqrt()
    return values + scale * torch.randn(values.shape, dtype=values.dtype, generator=draw)


class Rounded(torch.autograd.Function):
    """Adds rounding to values in the forward pass and to gradients in the backward pass."""

    @staticmethod
    def forward(ctx, values, size, draw):
        ctx.size, ctx.draw = size, draw
        return blur(values, size, draw)

    @staticmethod
    def backward(ctx, slopes):
        return blur(slopes, ctx.size, ctx.draw), None, None


def put_rounding_in(network, seed):
    draw = torch.Generator().manual_seed(seed)
    for layer in network.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            size = GROWTH * layer.weight[0].numel() ** 0.5 * UNIT
            layer.register_forward_hook(lambda _layer, _input, output, size=size: Rounded.apply(output, size, draw))
    return network


def steps(network, batches, loss):
    """Losses of plain SGD steps, and the gradients of the first."""
    losses, first = [], None
    for x, y in batches:
        network.zero_grad()
        value = loss(network(x), y)
        value.backward()
        losses.append(value.item())
        first = first or gradients(network)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= RATE * parameter.grad
    return losses, first


def largest(tensor):
    return tensor.abs().max().item()


def typical(tensor):
    return tensor.double().square().mean().sqrt().item()


# One wrong weight shows in the largest error, a wrong scale in the typical one.
NORMS = (largest, typical)


def share(distance, allowed):
    return 0.0 if distance == 0 else distance / allowed if allowed > 0 else float("inf")


def allowed_distances(exact, drawn):
    """Per norm and layer the allowed error of a gradient, and per step that of the loss."""
    losses, first = exact
    rooms = [{n: ROOM * (max(norm(d[n] - g) for _, d in drawn) + UNIT * norm(g)) for n, g in first.items()} for norm in NORMS]
    apart = [max(abs(d[k] - losses[k]) for d, _ in drawn) for k in range(len(losses))]
    # Errors only grow over the steps, so a later, smaller distance does not lower the bound.
    return rooms, [ROOM * (max(apart[: k + 1]) + UNIT * abs(losses[k])) for k in range(len(losses))]


def used(side, exact, allowed):
    """The largest part of the allowed distances that a side uses: by its gradients, where, and by its losses."""
    (losses, first), (exact_losses, exact_first), (rooms, loss_rooms) = side, exact, allowed
    assert first.keys() >= exact_first.keys(), f"gradients missing: {sorted(exact_first.keys() - first.keys())}"
    finite = all(torch.isfinite(first[name]).all() for name in exact_first) and all(abs(loss) < float("inf") for loss in losses)
    if not finite:
        return float("inf"), "a number that is not finite", float("inf")
    error = {name: first[name].double() - g for name, g in exact_first.items()}
    shares = {name: max(share(norm(error[name]), room[name]) for norm, room in zip(NORMS, rooms)) for name in error}
    where = max(shares, key=shares.get)
    return shares[where], where, max(share(abs(a - b), room) for a, b, room in zip(losses, exact_losses, loss_rooms))


def check(make, batches, loss, ours):
    double = [(x.double(), y) for x, y in batches]
    exact = steps(make().double(), double, loss)
    deep = any(isinstance(layer, nn.BatchNorm2d) for layer in make().modules())
    drawn = [steps(put_rounding_in(make().double(), seed), double, loss) for seed in range(DEEP_DRAWS if deep else DRAWS)]
    allowed = allowed_distances(exact, drawn)
    gradient, where, losses = used(ours, exact, allowed)
    peer_gradient, _, peer_losses = used(steps(make(), batches, loss), exact, allowed)
    # Biases before a batch norm have no gradient except rounding, so only weights are changed.
    weights = {name: g for name, g in exact[1].items() if g.dim() > 1}
    seen = [max(room[name] / norm(g) for name, g in weights.items()) for norm, room in zip(NORMS, allowed[0])]
    return {
        "agrees": gradient <= 1 and losses <= 1, "gradient": gradient, "where": where, "loss": losses,
        "peer_gradient": peer_gradient, "peer_loss": peer_losses, "seen": seen[0], "seen_everywhere": seen[1],
    }


def break_one(first, layer):
    """Adds the layer's largest gradient to the gradient of one of its weights: the check must notice."""
    changed = first[layer].flatten()
    changed[len(changed) // 2] += largest(changed)
    return {**first, layer: changed.view(first[layer].shape)}


def main(arguments):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    what, name, *arguments = arguments
    if what == "step":
        directory, losses = arguments[0], [float(loss) for loss in arguments[1:]]
        kind, stem, loss = CASES[name][0], name, F.cross_entropy
        batches = read_batches(name, directory)[: len(losses)]
    else:
        data, directory, losses = arguments[0], arguments[1], [float(loss) for loss in arguments[2:]]
        kind, stem, loss = NETWORKS[name], "epoch", lambda logits, labels: npcl(logits, labels, NOISE)
        given, order = (torch.from_numpy(np.fromfile(f"{directory}/epoch.{what}", "<i8")) for what in ("given", "order"))
        images = idx(data, "train-images-idx3-ubyte")
        batches = [(images[rows].unsqueeze(1).float() / 255, given[rows]) for rows in order.split(BATCH)[: len(losses)]]
    first = read(f"{directory}/{stem}.gradients")
    if layer := os.environ.get("TARES_BREAK_GRADIENT"):
        first = break_one(first, layer)
    make = lambda: kind(read(f"{directory}/{stem}.safetensors")).train()
    print(json.dumps(check(make, batches, loss, (losses, first))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
