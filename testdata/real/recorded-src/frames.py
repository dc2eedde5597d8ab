"""Data frames of pandas, ten a second.

  frames.py keep   LEAK: `report` keeps a column of every frame, and with it the frame: 250 rows x 8 columns of float64, 160 KB/s.
  frames.py roll   no leak: the last 60 frames in one window.
"""
import sys

import numpy as np
import pandas as pd

import pace

rng = np.random.default_rng(7)
columns, window = [], []


def measure():
    return pd.DataFrame(rng.standard_normal((250, 8)), columns=list("abcdefgh"))


def report(frame):
    if sys.argv[1] == "keep":
        columns.append(frame["a"])
    else:
        window.append(frame)
        del window[:-60]
        whole = pd.concat(window)
        whole.groupby(whole["a"] > 0).mean()


for tick in pace.ticks(10):
    report(measure())
