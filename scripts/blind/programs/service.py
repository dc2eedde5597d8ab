"""A service that keeps what its standard input asks for. scripts/blind/load.py writes the requests.

    service.py KIND CAP [threads N | workers N]

    k KEY SIZE   make a thing and keep it; with a CAP, the one that was made CAP keys before is released
    t SIZE       make the same thing at the same line, and drop it
    d KEY        release a thing
    b SLOT SIZE  keep a recent message in one of a fixed number of slots
    x            replace the worker processes

A comment "leak: KIND" marks the lines that allocate what KIND keeps.
"""
import array
import functools
import itertools
import json
import multiprocessing
import queue
import sqlite3
import sys
import threading
from xml.etree import ElementTree

kind, cap = sys.argv[1], int(sys.argv[2])
held = {}
in_order = []
recent = {}
database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
database.execute("create table things (key integer primary key, body text)")


class Session:
    def __init__(self, key, size):
        self.key = key
        self.body = bytearray(size)  # leak: object


def make_dict(key, size):
    return {"key": key, "body": bytearray(size)}  # leak: dict


def make_list(key, size):
    return [key, "x" * size]  # leak: list


def make_object(key, size):
    return Session(key, size)  # leak: object


def make_closure(key, size):
    body = bytearray(size)  # leak: closure
    return lambda: (key, body)  # leak: closure


def make_listener(key, size):
    return functools.partial(print, key, bytearray(size))  # leak: listener


@functools.lru_cache(maxsize=cap or None)
def page(key, size):
    return [key] * (size // 8)  # leak: lru_cache


def make_json(key, size):
    text = '{"key": %d, "rows": [%s 0]}' % (key, '{"a": 1.5}, ' * (size // 256))
    return json.loads(text)  # leak: json


def make_etree(key, size):
    text = "<page>%s</page>" % ("<row>one</row>" * (size // 256 + 1))
    return ElementTree.fromstring(text)  # leak: etree


def make_array(key, size):
    return array.array("d", [key]) * (size // 8)  # leak: array


def make_numpy(key, size):
    return numpy.full(size // 8, key)  # leak: numpy


def keep_row(key, size):
    database.execute("insert into things values (?, ?)", (key, "x" * size))  # leak: sqlite3


def keep(key, size):
    if kind == "lru_cache":
        page(key, size)
        return
    if kind == "sqlite3":
        keep_row(key, size)
    elif kind == "list":
        in_order.append(make(key, size))  # leak: list
    else:
        held[key] = make(key, size)  # leak: any
    if cap:
        release(key - cap)


def release(key):
    if kind == "sqlite3":
        database.execute("delete from things where key = ?", (key,))
    elif kind == "list":
        for i, thing in enumerate(in_order):
            if thing[0] == key:
                del in_order[i]
                return
    else:
        held.pop(key, None)


def note(slot, size):
    recent[slot] = ["m" * 64 for _ in range(size // 128)] + ["n" * (size // 2)]


def serve_request(line):
    op, *numbers = line.split()
    numbers = [int(n) for n in numbers]
    if op == "k":
        keep(*numbers)
    elif op == "t":
        once(*numbers)
    elif op == "d":
        release(*numbers)
    elif op == "b":
        note(*numbers)


def once(size):
    if kind == "lru_cache":
        page.__wrapped__(0, size)
    elif kind == "sqlite3":
        database.execute("select ?", ("x" * size,)).fetchone()
    else:
        make(0, size)


def serve(requests):
    for line in requests:
        serve_request(line)


def serve_in_threads(count):
    """The keys of all threads are in one table, as the messages are."""
    lines = queue.Queue()
    lock = threading.Lock()

    def run():
        while True:
            line = lines.get()
            with lock:
                serve_request(line)

    for _ in range(count):
        threading.Thread(target=run, daemon=True).start()
    for line in sys.stdin:
        lines.put(line)


def work(pipe):
    """Serves what the first process sends, until it sends nothing more."""
    while line := pipe.recv():
        serve_request(line)


def serve_in_workers(count):
    def start():
        here, there = fork.Pipe()
        process = fork.Process(target=work, args=(there,))
        process.start()
        return here, process

    fork = multiprocessing.get_context("fork")
    workers = [start() for _ in range(count)]
    turn = itertools.count()
    for line in sys.stdin:
        if line.startswith("x"):
            for pipe, process in workers:
                pipe.send("")
            for pipe, process in workers:
                process.join()
            workers = [start() for _ in range(count)]
            continue
        number = next(turn) if line.startswith("t") else int(line.split()[1])
        if cap and line[0] in "kd":
            number %= cap  # the key that a cache releases belongs to the worker that has it
        workers[number % count][0].send(line)


if kind == "numpy":
    import numpy
if kind not in ("lru_cache", "sqlite3"):
    make = globals()["make_" + kind]
if "threads" in sys.argv:
    serve_in_threads(int(sys.argv[-1]))
elif "workers" in sys.argv:
    serve_in_workers(int(sys.argv[-1]))
else:
    serve(sys.stdin)
