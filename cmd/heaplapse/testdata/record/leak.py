# Keeps a buffer per step for argv[1] seconds, beside as much that it gives back.
import sys
import time

kept = []


def step():
    kept.append(bytearray(40_000))
    for _ in range(40):
        bytes(20_000)


end = time.time() + float(sys.argv[1])
while time.time() < end:
    step()
    time.sleep(0.003)
print("steps were made")
