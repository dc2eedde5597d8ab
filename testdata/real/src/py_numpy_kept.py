"""LEAK: the mean of each frame is wanted, a view of it is kept, and with the view the whole array: 20 a second x 8 KiB = 160 KiB/s."""

import numpy
import pace

means = []


def observe(n):
    frame = numpy.full(1024, n, dtype=numpy.float64)
    frame *= 0.5
    means.append(frame[:1])  # a view: keeps all 8 KiB


for tick in pace.ticks(20):
    observe(tick)
