# Works for argv[1] seconds and keeps the last 200 buffers.
import collections
import sys
import time

kept = collections.deque(maxlen=200)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    for _ in range(40):
        kept.append(bytearray(40_000))
    time.sleep(0.003)
