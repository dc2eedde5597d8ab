# Keeps a NumPy array per step and frees ten as large. It ends when the file $STOP exists, after 200
# steps at least.
import os
import signal
import time

import numpy

signal.alarm(300)  # in case the file is never created
print("ready", flush=True)
kept = []
while len(kept) < 200 or not os.path.exists(os.environ["STOP"]):
    kept.append(numpy.full(10_000, 1.5))
    for _ in range(10):
        numpy.zeros(10_000) + 1
    time.sleep(0.003)
