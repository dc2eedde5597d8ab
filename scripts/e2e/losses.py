"""The loops of scripts/e2e-pytorch.sh: a training step on a fresh batch, and arrays of NumPy.

Usage: losses.py keeps|items|arrays
"""
import os
import sys
import time

import numpy as np
import torch

torch.set_num_threads(1)


def steps(count, a_second):
    """Counts steps that start at a fixed rate."""
    start = time.monotonic()
    for step in range(count):
        time.sleep(max(0.0, start + step / a_second - time.monotonic()))
        yield step
    print(f"{count} steps in {time.monotonic() - start:.0f} s")


def training():
    """Returns a function that trains a model on a batch, and returns the loss."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def train():
        loss = model(torch.randn(128, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        return loss

    return train


def keeps():
    """The mistake: each loss in the list keeps its graph, and the graph keeps the batch."""
    train = training()
    return [train() for _ in steps(900, a_second=15)]


def items():
    """The mistake mended: a list of numbers."""
    train = training()
    return [train().item() for _ in steps(900, a_second=15)]


def arrays():
    """NumPy without PyTorch: every fourth result is kept."""
    kept = []
    for step in steps(4000, a_second=80):
        result = np.full(4000, step, np.float64) * 2
        if step % 4 == 0:
            kept.append(result)
    return kept


result = {"keeps": keeps, "items": items, "arrays": arrays}[sys.argv[1]]()
print(len(result), "results", flush=True)
os._exit(0)  # at once, as a server that is killed: nothing is freed
