"""Times a bytearray of 130,000 bytes on the stack of the thread and on that of a greenlet."""
import time

import greenlet


def measure(where):
    rounds = 20000
    begin = time.perf_counter()
    for _ in range(rounds):
        bytearray(130000)
    print(where, f"{(time.perf_counter() - begin) / rounds * 1e6:.2f}")


measure("thread")
greenlet.greenlet(lambda: measure("coroutine")).switch()
