# Keeps a buffer per step and allocates twenty times as much that it frees again. It ends when the
# file $STOP exists, after 200 steps at least.
import os
import signal
import time

kept = []


def step():
    kept.append(bytearray(40_000))
    for _ in range(40):
        bytes(20_000)


signal.alarm(300)  # in case the file is never created
print("ready", flush=True)
while len(kept) < 200 or not os.path.exists(os.environ["STOP"]):
    step()
    time.sleep(0.003)
print("steps were made")
