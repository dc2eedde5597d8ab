"""NO LEAK: each request leaves a cycle of references that only the collector finds; it runs after 1,500 more container objects, every 5 s
or so: a sawtooth of some 3 MiB."""

import gc
import pace

gc.set_threshold(1500, 2, 2)


class Node:
    def __init__(self, n):
        self.payload = bytearray(5000)
        self.payload[0] = n & 255
        self.self = self


def request(n):
    return Node(n).payload[0]


for tick in pace.ticks(120):
    request(tick)
