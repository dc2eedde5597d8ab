"""Reads batches of lines, works on each, and drops it. The batches grow.

Usage: batches.py SECONDS TIMES LINES PERIOD: LINES at first, TIMES as many at the end, one batch each PERIOD seconds.
"""
import sys
import time


def read(n):
    return ["%d,%s" % (i, "v" * 30) for i in range(n)]


def work(lines):
    return sum(len(line.split(",")) for line in lines)


seconds, times, lines, period = (float(arg) for arg in sys.argv[1:])
start = time.monotonic()
while (done := (time.monotonic() - start) / seconds) < 1:
    due = time.monotonic() + period
    batch = read(int(lines * (1 + (times - 1) * done)))
    work(batch)
    time.sleep(max(0, due - time.monotonic()))  # the batch lives until the next one is read
