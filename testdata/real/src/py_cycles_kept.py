"""LEAK: the same cycles with the collector switched off, as some services do: 120 a second x 1 KiB = 120 KiB/s."""

import gc
import pace

gc.disable()


class Node:
    def __init__(self, n):
        self.payload = bytearray(1000)
        self.payload[0] = n & 255
        self.self = self


def request(n):
    return Node(n).payload[0]


for tick in pace.ticks(120):
    request(tick)
