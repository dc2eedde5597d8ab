# Writes the addresses of all objects that live, after many modules were imported and used. None of them is lost.
import asyncio
import collections
import concurrent.futures
import contextlib
import csv
import ctypes
import dataclasses
import datetime
import decimal
import email.message
import enum
import fractions
import functools
import gc
import http.server
import io
import itertools
import json
import logging
import pathlib
import queue
import random
import re
import selectors
import socket
import string
import struct
import sys
import tempfile
import threading
import time
import types
import typing
import unittest.mock
import urllib.request
import uuid
import weakref
import xml.etree.ElementTree
import zipfile

KEPT = []


@dataclasses.dataclass
class Point:
    x: int
    y: typing.Optional[str] = None


class Color(enum.Enum):
    RED = 1


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_void_p)]


def use():
    """Makes objects of many types."""
    for i in range(50):
        KEPT.extend([
            Point(i, str(i)), Color.RED, Structure(i), decimal.Decimal(i) / 7, fractions.Fraction(i, 7),
            datetime.datetime.now(datetime.timezone.utc), re.compile("a%d(b|c)*" % i), json.loads('{"a": [1, {"b": null}]}'),
            io.BytesIO(b"x" * i), io.StringIO("y" * i), struct.Struct("ii"), uuid.uuid4(), pathlib.Path("/a/b%d" % i),
            collections.OrderedDict(a=i), collections.ChainMap({}, {"a": i}), collections.Counter("abc"),
            functools.partial(print, i), itertools.chain([1], iter([2, 3])), itertools.cycle("ab"), zip("ab", [i, i]),
            map(str, [i]), reversed([i]), enumerate([i]), range(i), slice(i), iter({i: i}), iter({i}), memoryview(b"abc"),
            weakref.WeakValueDictionary(), types.SimpleNamespace(a=i), unittest.mock.Mock(), random.Random(i),
            xml.etree.ElementTree.fromstring("<a><b c='%d'/></a>" % i), email.message.EmailMessage(), queue.Queue(i),
            string.Template("$a"), threading.Lock(), threading.Condition(), ctypes.create_string_buffer(i + 1), 1.5 * i, i * 1j,
            1 << (i * 40), frozenset([i]), {i} | {"a"}, b"c" * i, "ü" * i, "\u20ac" * i, "\U0001f600" * i, bytearray(i),
            contextlib.ExitStack(), csv.reader(["a,b"]), type("Made%d" % i, (), {"__slots__": ("a", "b"), "i": i}),
            property(str), staticmethod(len), classmethod(len), super(Point, KEPT[0] if KEPT else Point(1)), object(), [].append,
            "".join, (x for x in "ab"), tempfile.SpooledTemporaryFile(), zipfile.ZipInfo("a"), logging.Formatter(),
        ])
        next(KEPT[-4])
        wide = types.SimpleNamespace()
        wide.__dict__.update(("k%d" % n, [n]) for n in range(i))
        KEPT.append(wide)
        try:
            raise KeyError(i)
        except KeyError as e:
            KEPT.append(e)


async def waits(event):
    async with contextlib.AsyncExitStack():
        await event.wait()


async def serve():
    event = asyncio.Event()
    KEPT.append(asyncio.gather(*(waits(event) for _ in range(10))))
    READY.set()
    await event.wait()


READY = threading.Event()


def addresses():
    known = set()
    for o in gc.get_objects():
        known.add(3 * id(o))  # no word has the address itself
        for r in gc.get_referents(o):
            known.add(3 * id(r))
    return known


def main():
    use()
    pool = concurrent.futures.ThreadPoolExecutor(2)
    KEPT.extend(pool.submit(time.sleep, 1000) for _ in range(3))
    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
    READY.wait()
    gc.collect()
    gc.disable()
    known = addresses() & addresses() & addresses()
    for address in known:
        print("%x" % (address // 3))
    print("ready", flush=True)
    time.sleep(1000)


main()
