"""Allocates and frees objects of all sizes, and tells where they are, in words of 64 bits: the length of two
arrays, addresses and sizes of objects that live, and addresses of those that were freed. Then it waits."""
import random
import sys
import time
from array import array


class Node:
    def __init__(self, n):
        self.n, self.next = n, None


def make(n):
    kind = n % 6
    if kind == 0:
        return Node(n)
    if kind == 1:
        return b"x" * random.randrange(2, 500)
    if kind == 2:
        return ["a"] * random.randrange(40)
    if kind == 3:
        return float(n)
    if kind == 4:
        return {i: n for i in range(random.randrange(8))}
    return (n, n, n)


def size(o):
    """Returns the size of an object without what it holds elsewhere."""
    t = type(o)
    return t.__basicsize__ + (t.__itemsize__ * len(o) if t in (bytes, tuple) else 0)


random.seed(1)
keep = [make(n) for n in range(60000)]
live, freed = array("Q"), array("Q")
for i, o in enumerate(keep):
    if i % 5:
        live.extend((id(o), size(o)))
o = None
for i in range(0, len(keep), 5):
    freed.append(id(keep[i]))
    keep[i] = None
# No small object is made from here on.
out = sys.stdout.buffer
array("Q", (len(live), len(freed))).tofile(out)
live.tofile(out)
freed.tofile(out)
out.flush()
time.sleep(600)
