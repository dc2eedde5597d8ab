# Usage: greenlets.py COUNT. Two greenlets take turns in the middle of calls, of C functions as well. Each allocates
# COUNT objects of 200 bytes at its line, and keeps them. So does one that another thread runs.
import sys
import threading

from greenlet import greenlet

COUNT = int(sys.argv[1])
SIZE = 200 - sys.getsizeof(b"")
kept = {name: [None] * COUNT for name in ("first", "second", "thread")}


def inner(other, i):
    other.switch()
    kept["first"][i] = bytes(SIZE)  # leak first
    other.switch()


def first():
    for i in range(COUNT):
        inner(two, i)


def key(i):
    one.switch()
    kept["second"][i] = bytes(SIZE)  # leak second
    one.switch()
    return -i


def second():
    sorted(range(COUNT), key=key)  # a C function between the frames
    one.switch()


def deep(n, i):
    if n > 0:
        return deep(n - 1, i)
    parent.switch()
    kept["thread"][i] = bytes(SIZE)  # leak thread


def work():
    global parent
    parent = greenlet(lambda: [child.switch() for _ in range(COUNT)])
    child = greenlet(lambda: [deep(40, i) for i in range(COUNT)])
    child.switch()


one, two = greenlet(first), greenlet(second)
t = threading.Thread(target=work)
t.start()
one.switch()
t.join()
assert all(kept["first"]) and all(kept["second"][:-1]) and all(kept["thread"][:-1]), kept
