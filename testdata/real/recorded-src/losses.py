"""Training steps of PyTorch from PyPI on a fresh batch.

  losses.py keep    LEAK: the list of losses keeps every loss, and with it the graph of its step: some 130 KB a step.
  losses.py items   no leak to speak of: a list of numbers.
"""
import sys

import torch

import pace

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
losses = []


def train():
    loss = model(torch.randn(128, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    return loss


for tick in pace.ticks(12):
    loss = train()
    losses.append(loss if sys.argv[1] == "keep" else loss.item())
