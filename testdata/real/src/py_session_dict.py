"""LEAK: a dict of sessions by id, which are never deleted: 100 a second with 600 to 2,000 bytes each, 130 KiB/s. (Larger than the 512 bytes up
to which CPython takes memory from its own arenas, so malloc sees each.) Beside it: short-lived replies."""

import random
import pace

random.seed(7)
sessions = {}


def open_session(n):
    sessions[n] = bytearray(random.randint(600, 2000))


def reply(n):
    return (b"%d " % n) * random.randint(100, 1000)


for tick in pace.ticks(100):
    open_session(tick)
    reply(tick)
