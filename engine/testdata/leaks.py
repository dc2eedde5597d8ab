# Usage: leaks.py COUNT. Allocates COUNT objects of SIZE bytes at each line that is marked "leak NAME", and keeps them. The
# test of the engine looks for the function, the file and the line of each.
import asyncio
import ctypes
import functools
import sys
import threading

COUNT = int(sys.argv[1])
SIZE = 200 - sys.getsizeof(b"")  # objects of 200 bytes
kept = {}


def slots(name):
    kept[name] = [None] * COUNT
    return kept[name]


def plain():
    to = slots("plain")
    for i in range(COUNT):
        to[i] = bytes(SIZE)  # leak plain


class Cache:
    def method(self):
        to = slots("method")
        for i in range(COUNT):
            to[i] = bytes(SIZE)  # leak method

    @classmethod
    def make(cls):
        to = slots("classmethod")
        for i in range(COUNT):
            to[i] = bytes(SIZE)  # leak classmethod


def comprehension():
    kept["comprehension"] = [
        bytes(SIZE)  # leak comprehension
        for _ in range(COUNT)
    ]


def generate(to):
    for i in range(COUNT):
        to[i] = bytes(SIZE)  # leak generator
        yield i


def generator():
    for _ in generate(slots("generator")):
        pass


def nested():
    to = slots("nested")

    def inner(i):
        to[i] = bytes(SIZE)  # leak nested

    for i in range(COUNT):
        inner(i)


def callback():
    to = slots("callback")

    def key(i):
        to[i] = bytes(SIZE)  # leak callback
        return i

    sorted(range(COUNT), key=key)


def foreign():
    to = slots("foreign")
    indices = iter(range(COUNT))

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def compare(a, b):
        i = next(indices, None)
        if i is not None:
            to[i] = bytes(SIZE)  # leak foreign
        return 0

    array = (ctypes.c_int * (2 * COUNT))()
    ctypes.CDLL(None).qsort(array, len(array), 4, compare)


def native():
    malloc = ctypes.CDLL(None).malloc
    malloc.restype = ctypes.c_void_p
    for _ in range(COUNT):
        malloc(200)  # leak native


def threaded():
    to = slots("threaded")

    def work():
        for i in range(COUNT):
            to[i] = bytes(SIZE)  # leak threaded

    t = threading.Thread(target=work)
    t.start()
    t.join()


def tasks():
    to = slots("task")

    async def one(i):
        await asyncio.sleep(0)
        to[i] = bytes(SIZE)  # leak task

    async def all():
        await asyncio.gather(*(one(i) for i in range(COUNT)))

    asyncio.run(all(), debug=False)


def recursion():
    to = slots("recursion")

    def down(n):
        if n > 0:
            return down(n - 1)
        for i in range(COUNT):
            to[i] = bytes(SIZE)  # leak recursion

    sys.setrecursionlimit(3000)
    down(2000)


def größe():
    to = slots("größe")
    for i in range(COUNT):
        to[i] = bytes(SIZE)  # leak unicode


def partial():
    to = slots("partial")
    f = functools.partial(lambda i, n: to.__setitem__(i, bytes(n)), n=SIZE)  # leak lambda
    for i in range(COUNT):
        f(i)


def source():
    to = slots("source")
    code = "\n\ndef run(to):\n    for i in range(%d):\n        to[i] = bytes(%d)\n" % (COUNT, SIZE)
    scope = {}
    exec(compile(code, "made up.py", "exec"), scope)
    scope["run"](to)


def main():
    threading.stack_size(16 << 20)
    plain()
    Cache().method()
    Cache.make()
    comprehension()
    generator()
    nested()
    callback()
    foreign()
    native()
    threaded()
    tasks()
    größe()
    partial()
    source()
    t = threading.Thread(target=recursion)  # a thread, because the main stack may be small
    t.start()
    t.join()


main()
