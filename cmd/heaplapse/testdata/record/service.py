# Handles requests, each of which keeps a buffer: 4000 a second by the clock, so that the rate does
# not depend on how busy the machine is. It ends when the file $STOP exists, and prints how many
# bytes it has kept per second.
import os
import signal
import sys
import time

kept = []


def handle(number):
    text = "request %d" % number
    kept.append(bytearray(1000))  # leak
    return text.upper()


signal.alarm(300)  # in case the file is never created
print("ready", flush=True)
start = time.monotonic()
while not os.path.exists(os.environ["STOP"]):
    time.sleep(0.002)
    while len(kept) < (time.monotonic() - start) * 4000:
        handle(len(kept))
print(len(kept) * sys.getsizeof(kept[0]) / (time.monotonic() - start))
