"""NO LEAK: temporaries of random sizes (up to 4 MiB) and a sliding window of 100 frames of 32 KiB, full after 5 s at 3.1 MiB."""

import collections
import random
import numpy
import pace

random.seed(7)
window = collections.deque(maxlen=100)


def observe(n):
    window.append(numpy.full(4096, n, dtype=numpy.float64))


def summarise():
    a = numpy.ones(random.randint(1000, 250000))
    b = a * 2 + 1
    return float((b / 3).sum())


held = None
for tick in pace.ticks(20):
    observe(tick)
    held = numpy.ones(random.randint(1000, 400000)) if tick % 10 == 0 else held
    summarise()
