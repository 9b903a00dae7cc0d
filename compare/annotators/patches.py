"""Features of CIFAR-10's training pictures without a trained network, where torch cannot be had: each picture's 6 x 6 patches are compared with 300
patches found by k-means, and what is near is summed in four quarters (Coates, Lee and Ng 2011). A linear model on them is about 60 % right."""
import os
import numpy as np
from features import TRAIN, cifar

SIDE, KINDS, PLACES = 6, 300, 27

def patches(pictures):
    """[picture][place][3 * 6 * 6], each patch standardised."""
    view = np.lib.stride_tricks.sliding_window_view(pictures.astype(np.float32), (SIDE, SIDE), axis=(2, 3))
    flat = view.transpose(0, 2, 3, 1, 4, 5).reshape(len(pictures), PLACES * PLACES, -1)
    return (flat - flat.mean(2, keepdims=True)) / np.sqrt(flat.var(2, keepdims=True) + 10)

def patch_features(data, cache, rows):
    """[row][1200] of the pictures `rows` (a slice); kept in the cache."""
    done = f"{cache}/patches-{rows.start}-{rows.stop}.npy"
    if os.path.exists(done): return np.load(done)
    from sklearn.cluster import MiniBatchKMeans
    pictures = cifar(data, TRAIN)[0][rows]; draw = np.random.default_rng(0)
    some = np.concatenate([patches(pictures[at:at + 50])[:, draw.integers(PLACES * PLACES, size=20)].reshape(-1, 3 * SIDE * SIDE) for at in range(0, 5000, 50)])
    mean = some.mean(0); scale, axes = np.linalg.eigh(np.cov((some - mean).T)); whiten = (axes / np.sqrt(scale + 0.1)) @ axes.T
    kinds = MiniBatchKMeans(KINDS, random_state=0, n_init=1, max_iter=30, batch_size=4096).fit(((some - mean) @ whiten).astype(np.float32)).cluster_centers_.astype(np.float32)
    parts = []
    for at in range(0, len(pictures), 50):
        own = ((patches(pictures[at:at + 50]) - mean) @ whiten).astype(np.float32)
        far = np.sqrt(np.maximum((own ** 2).sum(2, keepdims=True) - 2 * own @ kinds.T + (kinds ** 2).sum(1), 0))
        near = np.maximum(0, far.mean(2, keepdims=True) - far).reshape(-1, PLACES, PLACES, KINDS); halves = (slice(0, 14), slice(14, PLACES))
        parts.append(np.stack([near[:, a, b].mean((1, 2)) for a in halves for b in halves], 1).reshape(len(own), -1))
    os.makedirs(cache, exist_ok=True); np.save(done + ".tmp.npy", np.concatenate(parts).astype(np.float32)); os.replace(done + ".tmp.npy", done)
    return np.load(done)
