# Holds objects in many ways, and writes how and where: "CASE ADDRESS". The test has what the answer must be.
import asyncio
import collections
import ctypes
import functools
import gc
import itertools
import queue
import sys
import threading
import time
import types
import weakref

N = 30
TRUTH = []


def note(case, *objects):
    for o in objects:
        TRUTH.append((case, 3 * id(o)))  # no word has the address itself
    return objects[0]


def text(i):
    return "".join([chr(97 + i % 26)] * (100 + i))


SESSIONS = {}
RESULTS = []
SEEN = set()
FROZEN = []
RECENT = collections.deque(maxlen=1000)
ORDERED = collections.OrderedDict()
NESTED = collections.defaultdict(list)
QUEUE = queue.Queue(maxsize=100)
OBJECTS = []
SLOTTED = []
CALLBACKS = []
PARTIALS = []
GENERATORS = []
COROUTINES = []
ERRORS = []
VIEWS = []
BUFFERS = []
WEAK = []
LOCAL = threading.local()
POINTS = []
MANY = []
OPTIONS = []
IDS = {}  # neither of them holds what has the address
ID_SET = set()
LISTS = []
TEES = []
LEFT, SETS = {}, []
DEEP = {}
CHAIN = None
SPACE = types.SimpleNamespace()
KNOWN = []


class Handler:
    seen = []


class Item:
    def __init__(self, i):
        self.number = i
        self.payload = note("attribute", bytes(700 + i))

    def handle(self):
        pass


class Late(Item):
    """Its objects have a dict of their own."""


class Wide:
    """It has so many attributes that the prefix of their values in 3.11 has more than one word."""

    def __init__(self, i):
        self.a = self.b = self.c = self.d = self.e = self.f = self.g = self.h = self.i = None
        self.last = note("wide", [i])


class Names(list):
    """A list with attributes."""


class Service:
    def __init__(self):
        self.cache = {}
        self.name = "svc"
        self.prices = Prices()


class Prices:
    def __init__(self):
        self.maxsize = 600
        self.data = {}


class Option:
    """The values of its attributes look like an object if None has a low address."""

    def __init__(self, i):
        self.default = None
        self.type = int
        self.missing = None
        self.factory = Item
        self.value = note("looks like", [i])


class Known:
    pass


class Slotted:
    __slots__ = ("buffer", "other")


class Node:
    def __init__(self, following):
        self.following = following
        self.content = bytearray(60)


class Cycle:
    def __init__(self):
        self.me = self
        self.content = bytes(704)


class Outer:
    class Inner:
        kept = []


SERVICE = Service()
NAMES = Names()
NAMES.origin = note("list attribute", bytearray(90))
Point = collections.namedtuple("Point", "x y")


def make_closure():
    kept = []

    def add(o):
        kept.append(o)

    return add


ADD = make_closure()


def with_default(o, kept=[]):
    kept.append(o)


def with_keyword(o, *, known={}):
    known[id(o)] = o


@functools.lru_cache(maxsize=128)
def limited(i):
    return note("lru limited", bytes(650 + i))


@functools.lru_cache(maxsize=None)
def unlimited(i):
    return note("lru unlimited", text(i))


def generate(i):
    body = note("generator", bytes(710 + i))
    inner = note("generator list", [i, i])
    yield 1
    print(body, inner)


async def wait(i, event):
    request = note("task", bytearray(600 + i))
    await event.wait()
    print(request)


async def hold(i):
    request = note("coroutine", [i])
    await asyncio.sleep(600)
    print(request)


async def serve(ready):
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(wait(i, event)) for i in range(N)]
    await asyncio.sleep(0.01)
    ready.set()
    await event.wait()
    print(tasks)


def fail(i):
    broken = note("traceback", bytes(720 + i))
    raise ValueError(len(broken))


def worker(ready):
    mine = []
    for i in range(N):
        mine.append(note("thread", bytes(730 + i)))
    LOCAL.connection = note("thread-local", bytearray(500))
    alone = note("frame", [1])
    ready.set()
    deeper(alone)


def deeper(argument):
    within = {1: note("deeper", bytearray(77))}
    while argument:
        time.sleep(0.1)
    print(within)


def fill():
    for i in range(N):
        SESSIONS["user%d" % i] = note("dict", bytes(740 + i))
        RESULTS.append(note("list", text(i)))
        SEEN.add(note("set", text(i + 30)))
        FROZEN.append(frozenset([note("frozenset", text(i + 60))]))
        RECENT.append(note("deque", bytes(750 + i)))
        ORDERED[i] = note("ordered", [i])
        NESTED[i % 5].append({"id": i, "body": note("nested", bytearray(80 + i))})
        QUEUE.put(note("queue", bytes(760 + i)))
        Handler.seen.append(note("class", bytearray(90 + i)))
        Outer.Inner.kept.append(note("inner class", bytearray(91 + i)))
        SERVICE.cache[i] = note("instance dict", {"i": i})
        SERVICE.prices.data[i] = note("limit that is not kept", bytes(780 + i))
        OBJECTS.append(note("object", Item(i)))
        late = Late(i)
        late.__dict__["added"] = note("late attribute", bytes(770 + i))
        OBJECTS.append(late)
        MANY.append(Wide(i))
        known = Known()
        known.body = note("known attributes", bytearray(920 + i))
        vars(known)
        KNOWN.append(known)
        IDS[id(MANY[-1].last)] = i
        ID_SET.add(id(MANY[-1].last))
        OPTIONS.append(Option(i))
        LISTS.append([None, int, note("list like int", bytearray(70 + i))])
        LISTS.append([None, list, None, Item, note("list like item", bytearray(70 + i))])
        LISTS.append([i, i, None, Slotted, note("list like slotted", bytearray(70 + i)), 1, 2, 3])
        NAMES.append(note("list subclass", text(i + 90)))
        s = Slotted()
        s.buffer = note("slot", bytes(780 + i))
        SLOTTED.append(s)
        ADD(note("closure", bytearray(100 + i)))
        with_default(note("default", bytes(790 + i)))
        with_keyword(note("keyword default", [i]))
        limited(i)
        unlimited(i)
        PARTIALS.append(functools.partial(print, note("partial", bytes(800 + i))))
        s = Slotted()
        s.buffer = note("method", bytearray(810 + i))
        CALLBACKS.append(types.MethodType(with_default, s))
        CALLBACKS.append(note("builtin method", [i]).append)
        g = generate(i)
        next(g)
        GENERATORS.append(g)
        c = hold(i)
        COROUTINES.append(c)
        try:
            fail(i)
        except ValueError as e:
            ERRORS.append(e)
        buffer = note("view", bytearray(820 + i))
        TRUTH.append(("buffer", 3 * ctypes.addressof(ctypes.c_char.from_buffer(buffer))))
        VIEWS.append(memoryview(buffer))
        POINTS.append(Point(note("tuple", [i]), i))
    SPACE.value = note("namespace", bytearray(123))


def tee():
    for i in range(N):
        o = DEEP.setdefault(0, {}).setdefault(1, {})[i] = note("stale in tee", bytearray(84 + i))
        stale = [(o,) * 59 for _ in range(4)]  # as large as what tee has of the elements
        del stale
        TEES.append(itertools.tee([note("tee", bytearray(85 + i)), i]))
        next(TEES[-1][0])


class Left:
    pass


def outgrow():
    for i in range(N):
        o = LEFT.setdefault(0, {}).setdefault(1, {})[i] = note("left by a set", Left())
        SETS.append({o})  # within the set, until it grows
        SETS[-1].update(range(100))
        SETS[-1].discard(o)


def chain():
    global CHAIN
    for i in range(1000):
        CHAIN = Node(CHAIN)
        if i < 5:  # what a stale word says of one, it says of all
            note("chain", CHAIN.content)


def lose():
    for i in range(N):
        c = Cycle()
        note("cycle", c.content, c)
        WEAK.append(weakref.ref(c))
        o = note("lost", bytes(830 + i))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(o))


def run(coroutines):
    for c in coroutines:
        c.send(None)


async def no_sleep(*args):
    await Forever()


class Forever:
    def __await__(self):
        yield


def start(target, *args):
    ready = threading.Event()
    threading.Thread(target=target, args=(ready,) + args, daemon=True).start()
    ready.wait()


def loop(ready):
    asyncio.run(serve(ready))


def main():
    gc.disable()
    asyncio.sleep = no_sleep
    fill()
    run(COROUTINES)
    tee()
    outgrow()
    chain()
    lose()
    mine = note("main", [1, 2])
    also = [k.body for k in KNOWN]  # a module holds them, too
    WEAK.append(weakref.ref(note("weak", LOCAL_ONLY[0])))
    start(worker)
    asyncio.sleep = SLEEP
    start(loop)
    for case, address in TRUTH:
        print(case.replace(" ", "_"), "%x" % (address // 3))
    print("ready", flush=True)
    while mine and also:
        time.sleep(0.1)


SLEEP = asyncio.sleep
LOCAL_ONLY = [Service()]
main()
