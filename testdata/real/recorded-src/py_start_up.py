"""A service that loads for 18 s, some 1 MB a second, and then works.

  py_start_up.py keep   LEAK: `serve` keeps what it computes for each request, 60 a second x 2,000 B, 117 KiB/s, from 18 s on.
  py_start_up.py drop   no leak: the last 100 of them.
"""
import sys
import time

import pace

table, answers = {}, []


def load():
    end = time.monotonic() + 18
    for tick in pace.ticks(500):
        table["row %d" % tick] = bytes(2000)
        if time.monotonic() > end:
            return


def serve(n):
    answers.append(b"answer %d " % n + bytes(2000))
    if sys.argv[1] == "drop":
        del answers[:-100]


load()
for tick in pace.ticks(60):
    serve(tick)
