# Keeps a buffer per step, beside as much that it gives back: for argv[1] seconds, and 50 times for each of them where the machine is too
# busy for that.
import sys
import time

kept = []


def step():
    kept.append(bytearray(40_000))
    for _ in range(40):
        bytes(20_000)


seconds = float(sys.argv[1])
end = time.time() + seconds
while time.time() < end or len(kept) < 50 * seconds:
    step()
    time.sleep(0.003)
print("steps were made")
