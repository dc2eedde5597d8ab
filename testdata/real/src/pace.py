"""ticks(rate): an endless generator of even ticks, for the recorded scripts and those that drive the recorded servers."""

import itertools
import time


def ticks(rate):
    start = time.monotonic()
    for n in itertools.count(1):
        wait = start + n / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        yield n
