"""Threads, forks, workers of a DataLoader, Ctrl-C, and a panic in the compiled part."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import tares
from conftest import make_noisy
from tares import _tares


def _audit(seed: int) -> tuple[list[int], float]:
    data = make_noisy(3000, 6, 0.2, seed)
    found = tares.audit(data.labels, data.probs)
    return found.suspects["row"].tolist(), found.noise_rate


def test_many_threads_get_the_answers_of_one() -> None:
    expected = [_audit(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(_audit, [*range(8)] * 4)) == expected * 4


def test_other_threads_go_on_while_an_audit_runs() -> None:
    data = make_noisy(200_000, 50, 0.2, 1)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    tares.audit(data.labels, data.probs)
    after = counted[0]
    stop.set()
    thread.join()
    assert after > before + 3


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_child_processes_get_workers_of_their_own(start: Any) -> None:
    # The parent's workers are running by now; a forked child has none of them.
    expected = [_audit(seed) for seed in range(3)]
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map_async(_audit, range(3)).get(timeout=120) == expected


class _Rows(torch.utils.data.Dataset[float]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: int) -> float:
        return _audit(place)[1]


def test_a_data_loader_with_workers_can_audit() -> None:
    expected = [_audit(seed)[1] for seed in range(4)]
    loader = torch.utils.data.DataLoader(_Rows(), batch_size=1, num_workers=2)
    assert [float(batch) for batch in loader] == pytest.approx(expected)


def _train(seed: int) -> list[float]:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(200, 3))
    model = tares.RobustClassifier(noise_rate=0.1, epochs=3, random_state=1).fit(X, (X[:, 0] > 0).astype(int))
    return model.predict_proba(X[:5])[:, 0].tolist()  # type: ignore[no-any-return]


def test_forked_children_and_threads_can_train() -> None:
    expected = [_train(seed) for seed in range(3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_train, range(3)).get(timeout=120) == expected
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(_train, range(3))) == expected


def test_a_panic_is_an_exception_and_the_next_call_works() -> None:
    with pytest.raises(RuntimeError, match="please report it.*a nut in the works"):
        _tares.panic("a nut in the works")
    assert tares.audit([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).noise_rate < 0.5


LONG = """
import os, signal, sys, threading, time
import numpy as np, tares
X = np.random.default_rng(0).normal(size=(20_000, 20))
y = (X[:, 0] > 0).astype(int)
threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.time()
try:
    {call}
except KeyboardInterrupt:
    print("stopped", time.time() - start < 60)
    print(len(tares.audit([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).classes))
"""


@pytest.mark.parametrize(
    "call",
    [
        "tares.RobustClassifier(noise_rate=0.2, epochs=100_000).fit(X, y)",
        "tares.audit(y, features=X, judges=['mlp:512-512'], epochs=100_000)",
    ],
)
def test_ctrl_c_stops_training_and_the_process_goes_on(call: str) -> None:
    done = subprocess.run([sys.executable, "-c", LONG.format(call=call)], capture_output=True, text=True, timeout=180)
    assert done.stdout.split() == ["stopped", "True", "2"], done.stdout + done.stderr


def test_progress_that_raises_stops_the_work() -> None:
    X = np.random.default_rng(0).normal(size=(500, 4))
    settings = {"method": "standard", "network": "mlp:8", "noise_rate": "auto", "epochs": 100_000, "batch_size": 128, "learning_rate": 1e-3, "seed": 1}
    heard: list[tuple[str, int, int]] = []

    def hear(stage: str, done: int, total: int) -> None:
        heard.append((stage, done, total))
        if done == 3:
            raise ZeroDivisionError("enough")

    columns = [(f"x{place}", np.ascontiguousarray(X[:, place])) for place in range(4)]
    with pytest.raises(ZeroDivisionError, match="enough"):
        _tares.fit(columns, (X[:, 0] > 0).astype(np.uint32), ["a", "b"], [], settings, os.devnull, hear)
    assert heard[0] == ("training", 1, 100_000)
    signal.getsignal(signal.SIGINT)
