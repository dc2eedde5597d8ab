"""The requests that a recorded program gets, and what follows from them without running it.

Everything here depends on an entry of the plan only: the same entry has the same requests, byte for byte.
"""
import math
import random

TAIL = 15  # seconds of requests beyond the recording, which a slow start may need
MAX_RATE = 100.0  # requests a second at which things are kept


def span(entry):
    """Returns the seconds over which a process of the program lives, as far as it is recorded."""
    return entry.get("recycle") or entry["seconds"]


def begin(entry):
    """Returns the second of the requests at which the recording begins."""
    return entry.get("attach_after", 0)


def requests(entry):
    """Yields the requests of each second, as (letter, key, size): see programs/service.py."""
    dice = random.Random(entry["seed"])
    policy = POLICIES[entry["policy"]](entry, dice)
    kept, passing, background = Count(), Count(), Count()
    share, messages = entry["share"], entry["background"]
    for second in range(begin(entry) + entry["seconds"] + TAIL):
        factor = curve(entry, second, dice)
        number = kept.next(entry["rate"] * factor)
        found = []
        if entry.get("recycle") and second and second % entry["recycle"] == 0:
            found.append(("x", 0, 0))
            policy = POLICIES[entry["policy"]](entry, dice, policy)
        found += policy.second(second, number)
        found += [("t", 0, size(entry, dice)) for _ in range(passing.next(entry["rate"] * (1 / share - 1) * factor))]
        for _ in range(background.next(messages["rate"] * factor)):
            found.append(("b", dice.randrange(messages["slots"]), int(messages["size"] * dice.uniform(0.5, 1.5))))
        if found and found[0][0] != "x":
            found = mixed(found, dice)
        yield found


def mixed(found, dice):
    """Mixes temporary requests among the others, whose order stays."""
    ordered = [f for f in found if f[0] in "kd"]
    free = [f for f in found if f[0] in "tb"]
    dice.shuffle(free)
    places = [True] * len(ordered) + [False] * len(free)
    dice.shuffle(places)
    ordered, free = iter(ordered), iter(free)
    return [next(ordered) if place else next(free) for place in places]


class Count:
    """Makes whole numbers of a rate, and loses nothing."""

    left = 0.0

    def next(self, rate):
        self.left += rate
        whole = int(self.left)
        self.left -= whole
        return whole


def size(entry, dice):
    return max(16, int(entry["size"] * dice.uniform(1 - entry["spread"], 1 + entry["spread"])))


def curve(entry, second, dice):
    """Returns the load in this second, as a factor with a mean of about 1."""
    shape, period = entry["curve"]["shape"], entry["curve"]["period"]
    done = min(1.0, second / (begin(entry) + entry["seconds"]))
    if shape == "noisy":
        return dice.uniform(0.4, 1.6)
    if shape == "wave":
        return 1 + 0.8 * math.sin(2 * math.pi * (second / period + entry["curve"]["phase"]))
    if shape == "steps":
        return 1.6 if int(second / period + entry["curve"]["phase"]) % 2 else 0.4
    if shape == "rising":
        return 0.3 + 1.4 * done
    if shape == "falling":
        return 1.7 - 1.4 * done
    return 1.0


class Policy:
    """What is kept, and when it is released. A policy of a new generation of workers goes on with new keys."""

    def __init__(self, entry, dice, before=None):
        self.entry, self.dice = entry, dice
        self.key = before.key if before else 0
        self.step = entry.get("workers", 1) if entry.get("one_worker") else 1

    def keep(self, number=1):
        """Returns requests that keep new things."""
        found = []
        for _ in range(number):
            self.key += self.step
            found.append(("k", self.key, size(self.entry, self.dice)))
        return found

    def pass_by(self, number):
        return [("t", 0, size(self.entry, self.dice)) for _ in range(number)]


class Steady(Policy):
    """Leak: nothing is released."""

    def second(self, second, number):
        return self.keep(number)


class Late(Policy):
    """Leak: from a moment on, nothing is released."""

    def second(self, second, number):
        since = second % self.entry["recycle"] if self.entry.get("recycle") else second - begin(self.entry)
        return self.keep(number) if since >= self.entry["from"] else self.pass_by(number)


class Burst(Policy):
    """Leak: in one of `of` blocks of seconds, everything that is made is kept."""

    def second(self, second, number):
        block, of = self.entry["block"], self.entry["of"]
        return self.keep(number * of) if second // block % of == 0 else self.pass_by(number)


class Batches(Policy):
    """Batches that are released at their end: all of it (control), or all but one of `of` things (leak)."""

    def __init__(self, entry, dice, before=None):
        super().__init__(entry, dice, before)
        self.batch = []

    def second(self, second, number):
        released = []
        if second and second % self.entry["period"] == 0:
            of = self.entry.get("of", 0)
            released = [("d", key, 0) for i, key in enumerate(self.batch) if not of or i % of]
            self.batch = []
        made = self.keep(number)
        self.batch += [m[1] for m in made]
        return released + made


class Cache(Policy):
    """Control: the program releases the oldest thing (see cap in the plan)."""

    def second(self, second, number):
        return self.keep(number)


class Escape(Policy):
    """Leak: a cache of `slots` things, from which one of `of` is never released."""

    def __init__(self, entry, dice, before=None):
        super().__init__(entry, dice, before)
        self.live, self.made = [], 0

    def second(self, second, number):
        found = []
        for k in self.keep(number):
            found.append(k)
            self.made += 1
            if self.made % self.entry["of"]:
                self.live.append(k[1])
            if len(self.live) > self.entry["slots"]:
                found.append(("d", self.live.pop(0), 0))
        return found


class WarmUp(Policy):
    """Control: a table with a limited number of possible entries. What is there is found, and not made again."""

    def __init__(self, entry, dice, before=None):
        super().__init__(entry, dice, before)
        self.known = set()

    def second(self, second, number):
        found = []
        for _ in range(number):
            entry = self.dice.randrange(self.entry["slots"])
            if entry in self.known:
                found += self.pass_by(1)
            else:
                self.known.add(entry)
                found += self.keep()
        return found


class Sessions(Policy):
    """Control: things live for `life` seconds, so that they follow the load."""

    def __init__(self, entry, dice, before=None):
        super().__init__(entry, dice, before)
        self.ends = {}

    def second(self, second, number):
        found = [("d", key, 0) for key in self.ends.pop(second, [])]
        made = self.keep(number)
        self.ends[second + self.entry["life"]] = [m[1] for m in made]
        return found + made


class Churn(Policy):
    """Control: a fixed number of slots whose things, of very different sizes, are replaced in a random order."""

    def __init__(self, entry, dice, before=None):
        super().__init__(entry, dice, before)
        self.slots = {}

    def second(self, second, number):
        found = []
        for _ in range(number):
            slot = self.dice.randrange(self.entry["slots"])
            if slot in self.slots:
                found.append(("d", self.slots[slot], 0))
            letter, key, size = self.keep()[0]
            self.slots[slot] = key
            found.append((letter, key, max(16, int(size * 5 ** self.dice.uniform(-1, 1)))))
        return found


class Block(Policy):
    """Control: one large block, made at `from`, and perhaps replaced by one of another size from time to time."""

    def second(self, second, number):
        found = self.pass_by(number)
        since, every = second - begin(self.entry) - self.entry["from"], self.entry["period"]
        if since == 0 or since > 0 and every and since % every == 0:
            old = self.key
            self.key += self.step
            found.append(("k", self.key, int(self.entry["bytes"] * self.dice.uniform(0.9, 1.1))))
            if old:
                found.append(("d", old, 0))
        return found


LEAKS = {"steady": Steady, "late": Late, "burst": Burst, "residue": Batches, "escape": Escape}
CONTROLS = {"warm-up": WarmUp, "cache": Cache, "cycle": Batches, "rise-and-fall": Sessions, "load-driven": Sessions, "churn": Churn,
            "block": Block}
POLICIES = LEAKS | CONTROLS


def full_at(entry):
    """Returns the second of the recording (for workers that are replaced: of their life) at which the last table of the
    program has 95 % of the entries that it has at most. Only what is made while it is recorded counts, as for attach.
    """
    tables = {"k": {}, "b": {}}
    counts = {"k": [], "b": []}
    cap = entry.get("cap", 0)
    start, end = begin(entry), begin(entry) + span(entry)
    for second, found in enumerate(requests(entry)):
        if second == end:
            break
        for letter, key, _ in found:
            if letter in tables:
                tables[letter][key] = second >= start
            if letter == "d":
                tables["k"].pop(key, None)
            if letter == "k" and cap:
                tables["k"].pop(key - cap, None)
        if second >= start:
            for letter, table in tables.items():
                counts[letter].append(sum(table.values()))
    filling = "kb" if entry["policy"] in ("warm-up", "cache", "churn") else "b"
    moments = [next(i for i, n in enumerate(counts[f]) if n >= 0.95 * max(counts[f])) for f in filling if max(counts[f])]
    if entry["policy"] == "block":
        moments.append(entry["from"])
    return max(moments, default=0)


# --- what is written to a program, one function for each protocol --------------------------------------------------
def lines(found, entry):
    """Requests of the programs in programs/."""
    shown = {"k": "k %d %d\n", "d": "d %d\n", "t": "t %d\n", "b": "b %d %d\n", "x": "x\n"}
    parts = {"k": lambda k, s: (k, s), "d": lambda k, s: (k,), "t": lambda k, s: (s,), "b": lambda k, s: (k, s), "x": lambda k, s: ()}
    return "".join(shown[letter] % parts[letter](key, size) for letter, key, size in found).encode()


def bounded(found, cap):
    """Adds the releases that the programs in programs/ do by themselves."""
    for letter, key, size in found:
        yield letter, key, size
        if letter == "k" and cap and key > cap:
            yield "d", key - cap, 0


def sql(found, entry):
    """Statements for the shell of SQLite, with a table in memory."""
    shown = {"k": "insert into held values (%d, zeroblob(%d));\n", "d": "delete from held where key = %d;\n",
             "t": "insert into held values (0, zeroblob(%d)); delete from held where key = 0;\n",
             "b": "insert or replace into recent values (%d, zeroblob(%d));\n"}
    parts = {"k": lambda k, s: (k, s), "d": lambda k, s: (k,), "t": lambda k, s: (s,), "b": lambda k, s: (k, s)}
    return "".join(shown[f[0]] % parts[f[0]](f[1], f[2]) for f in bounded(found, entry.get("cap", 0))).encode()


SQL_TABLES = b"create table held (key integer primary key, body);\ncreate table recent (key integer primary key, body);\n"


def redis(found, entry):
    """Commands for redis. What is kept are strings, entries of one stream, or elements of one list."""
    variant, out = entry["variant"], []
    for letter, key, size in bounded(found, entry.get("cap", 0)):
        body = b"x" * size
        if letter == "k" and variant == "stream":
            out.append((b"XADD", b"held", b"%d-1" % key, b"body", body))
        elif letter == "k" and variant == "hash":
            out.append((b"HSET", b"held", b"%d" % key, body))
        elif letter == "k":
            out.append((b"SET", b"held:%d" % key, body))
        elif letter == "d" and variant == "stream":
            out.append((b"XDEL", b"held", b"%d-1" % key))
        elif letter == "d" and variant == "hash":
            out.append((b"HDEL", b"held", b"%d" % key))
        elif letter == "d":
            out.append((b"DEL", b"held:%d" % key))
        elif letter == "t":
            out.append((b"ECHO", body))
        elif letter == "b":
            out.append((b"SET", b"recent:%d" % key, body))
    return b"".join(b"*%d\r\n" % len(c) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in c) for c in out)
