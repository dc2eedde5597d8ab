#!/usr/bin/env python3
"""Draws the recordings of a blind test from a seed, and prints them, one JSON object a line, before anything is recorded.

    plan.py SEED [--scale 0.2] [--only REGEXP] >plan.jsonl

The plan has everything that is needed to record and to judge: the program and its arguments, the load, the engine, and
the truth: whether it leaks, where, and when its tables are full. A scale below 1 makes the recordings shorter, to try
whether the programs work; only such recordings may be repeated.
"""
import argparse
import json
import math
import pathlib
import random
import re

import load

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
MIB = 1 << 20

# Of each kind of program: how many are recorded; what it keeps; the engines (b: builtin, a: attach, j: jemalloc,
# t: tcmalloc) and their shares; and its source, if that has lines that heaplapse can name. Lines of Python are known to
# the built-in engine only. Debian's PHP crashes with jemalloc preloaded, without heaplapse too.
KINDS = {
    "python": (14, ["dict", "list", "object", "closure", "listener", "lru_cache"], "bbbbaaj", "service.py"),
    "python-ext": (10, ["json", "etree", "array", "numpy", "sqlite3"], "bbbaj", "service.py"),
    "python-threads": (8, ["dict", "list", "object", "closure"], "bbba", "service.py"),
    "python-workers": (10, ["dict", "list", "object", "json"], "bbba", "service.py"),
    "c": (10, ["list", "hash", "array"], "bbajt", "service.c"),
    "c-workers": (8, ["list", "hash", "array"], "bbajt", "service.c"),
    "cpp": (10, ["map", "vector", "shared", "lru"], "bbajt", "service.cc"),
    "cpp-threads": (8, ["map", "vector", "shared", "lru"], "bbajt", "service.cc"),
    "rust": (10, ["map", "vec", "rc", "channel"], "bbajt", "service.rs"),
    "node": (10, ["map", "closure", "listener", "objects"], "bbba", "service.js"),
    "perl": (6, ["hash", "array", "cycle"], "bbajt", ""),
    "lua": (6, ["table", "closure", "string"], "bbajt", ""),
    "ruby": (6, ["struct", "array", "proc"], "bbaj", ""),
    "php": (6, ["array", "object", "closure"], "bba", ""),
    "tcl": (4, ["dict", "array"], "bbaj", ""),
    "sqlite": (6, ["table"], "bbajt", ""),
    "redis": (8, ["string", "stream", "hash"], "bbaj", ""),
    "nginx": (4, ["connections"], "b", ""),
}
ENGINES = {"b": "builtin", "a": "attach", "j": "jemalloc", "t": "tcmalloc"}
PYTHONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
LEAKS = ["steady"] * 5 + ["late"] * 2 + ["burst"] * 2 + ["residue"] * 2 + ["escape"] * 2
CONTROLS = list(load.CONTROLS)
# Policies that a kind of memory cannot have: nothing is released from an lru_cache but by its own bound, the memory of a
# stream is freed in the order of its keys, and a row of SQLite has no place of its own.
ONLY = {"lru_cache": ["steady", "late", "burst", "cache"], "stream": ["steady", "late", "burst", "residue", "cache", "cycle", "rise-and-fall",
        "load-driven", "block"], "connections": ["cache", "cycle", "rise-and-fall", "load-driven"]}


class Deck:
    """Deals cards in a random order, each as often as the others."""

    def __init__(self, dice, cards):
        self.dice, self.cards, self.rest = dice, cards, []

    def deal(self, fits=lambda card: True):
        if not any(fits(card) for card in self.rest):
            more = list(self.cards)
            self.dice.shuffle(more)
            self.rest += more
        return self.rest.pop(next(i for i, card in enumerate(self.rest) if fits(card)))


def draw(seed, scale=1.0):
    """Returns the entries of a plan."""
    dice = random.Random(seed)
    leaks, controls = Deck(dice, LEAKS), Deck(dice, CONTROLS)
    machines = Deck(dice, [True, False])
    entries = []
    for kind, (count, variants, engines, source) in KINDS.items():
        variant, engine = Deck(dice, variants), Deck(dice, list(engines))
        truths = Deck(dice, ["leak", "control"] if kind != "nginx" else ["control"])
        for number in range(1, count + 1):
            e = {"name": f"{kind}-{number}", "kind": kind, "variant": variant.deal(), "truth": truths.deal(),
                 "engine": ENGINES[engine.deal()], "busy": machines.deal()}
            possible = ONLY.get(e["variant"])
            deck = leaks if e["truth"] == "leak" else controls
            e["policy"] = deck.deal(lambda p: not possible or p in possible)
            e["seconds"] = round(dice.uniform(60, 150) * scale)
            e["seed"] = dice.randrange(1 << 32)
            draw_processes(e, dice)
            draw_engine(e, dice)
            draw_load(e, dice)
            draw_policy(e, dice)
            e["full_at"] = load.full_at(e)
            e["full"] = e["full_at"] <= 2 / 3 * load.span(e)
            if e["truth"] == "leak":
                e["lines"] = lines_of(e, source)
            entries.append(e)
    return entries


def uniform(dice, low, high):
    """Draws a number whose logarithm is uniform."""
    return math.exp(dice.uniform(math.log(low), math.log(high)))


def draw_processes(e, dice):
    if e["kind"].startswith("python"):
        e["python"] = "system" if e["variant"] == "numpy" else dice.choice(PYTHONS)
    if e["kind"] == "php":
        e["zend_alloc"] = dice.choice([0, 1])
    if e["kind"].endswith("-threads"):
        e["threads"] = dice.randint(2, 6)
    if e["kind"].endswith("-workers"):
        e["workers"] = dice.randint(2, 4)
        e["one_worker"] = dice.random() < 0.4
        if e["engine"] == "builtin" and dice.random() < 0.5:
            e["recycle"] = max(5, e["seconds"] // dice.randint(2, 3))


def draw_engine(e, dice):
    if e["engine"] in ("builtin", "attach"):
        e["flags"] = ["--every", dice.choice(["auto", "auto", "1s", "2s"])]
        if dice.random() < 0.3:
            e["flags"] += ["--sample-period", "32KiB"]
    elif e["engine"] == "jemalloc":
        e["flags"] = ["--every", dice.choice(["1s", "2s"]), "--sample-period", dice.choice(["64KiB", "128KiB"])]
        if e["kind"].startswith("python"):
            e["flags"].append("--python-malloc")
    else:
        e["flags"] = ["--every", dice.choice(["1s", "2s", "3s"])]
    if e["engine"] == "attach":
        e["attach_after"] = dice.randint(3, 15)


def draw_load(e, dice):
    shape = dice.choice(["even"] * 4 + ["noisy"] * 2 + ["wave"] * 2 + ["steps", "rising", "falling"])
    if e["policy"] == "rise-and-fall":
        shape = dice.choice(["wave", "steps"])
    if e["policy"] == "load-driven":
        shape = "rising"
    e["curve"] = {"shape": shape, "period": max(2, round(e["seconds"] / uniform(dice, 1.5, 8))), "phase": round(dice.random(), 3)}
    e["share"] = dice.choice([1, 1, 0.5, 0.2, 0.1, 0.05])
    slots = dice.randint(32, 512)
    e["background"] = {"slots": slots, "size": round(uniform(dice, 200, 8000)),
                       "rate": round(min(60, 3 * slots / (dice.uniform(0.05, 0.5) * load.span(e))), 2)}


def draw_policy(e, dice):
    """Draws what is kept: total bytes for each process, in things of one size, at a rate that follows."""
    life, policy = load.span(e), e["policy"]
    total = uniform(dice, 6 * MIB, 60 * MIB) if e["truth"] == "leak" else uniform(dice, 4 * MIB, 40 * MIB)
    fill = dice.uniform(0.7, 1.3) if dice.random() < 0.15 else dice.uniform(0.05, 0.6)
    e["size"], e["spread"] = round(uniform(dice, 200, 16000)), round(dice.uniform(0, 0.6), 2)
    processes = 1 if e.get("one_worker") else e.get("workers", 1)
    made = total  # bytes that are kept in one life of a process, or in the time that it takes to fill its table
    seconds = life
    if policy == "late":
        e["from"] = round(dice.uniform(0.1, 0.5) * life)
        seconds = life - e["from"]
    elif policy == "burst":
        e["block"], e["of"] = max(1, round(life / dice.uniform(12, 60))), dice.randint(2, 4)
    elif policy == "residue":
        e["period"], e["of"] = max(2, round(life / dice.uniform(6, 25))), dice.randint(3, 15)
        made = total * e["of"]
    elif policy == "escape":
        e["of"] = dice.randint(2, 10)
        made = total * e["of"]
    elif policy in ("warm-up", "cache"):
        seconds = fill * life
    elif policy == "cycle":
        e["period"] = seconds = max(2, round(life / dice.uniform(3, 12)))
    elif policy in ("rise-and-fall", "load-driven"):
        e["life"] = seconds = max(1, round(uniform(dice, 2, life / 6)))
    elif policy == "churn":
        seconds = dice.uniform(0.05, 0.25) * life
    elif policy == "block":
        e["from"], e["bytes"] = round(dice.uniform(0.05, 0.6) * life), round(total)
        e["period"] = dice.choice([0, max(2, round(life / dice.uniform(6, 20)))])
    draw_rate(e, made * processes, seconds)
    slots = max(1, round(made * processes / e["size"]))
    if policy in ("warm-up", "churn"):
        e["slots"] = slots
        e["rate"] *= 3  # so that nearly all slots have been chosen once
    elif policy == "escape":
        e["slots"] = max(1, round(slots * dice.uniform(0.02, 0.2)))
    elif policy == "cache":
        e["cap"] = slots * (e["workers"] if e.get("one_worker") else 1)
    e["rate"] = round(e["rate"], 3)
    e["share"] = max(e["share"], round(e["rate"] / (e["rate"] + 2 * load.MAX_RATE), 3))


def draw_rate(e, made, seconds):
    """Sets the rate at which things are kept. Things are made larger if that would be too many, or smaller if too few."""
    seconds = max(1, seconds)
    fastest = load.MAX_RATE / (3 if e["policy"] in ("warm-up", "churn") else 1)
    if e["kind"] == "nginx":
        e["size"] = round(max(e["size"], made / 400))  # connections, of which it has at most so many
    e["size"] = round(min(max(e["size"], made / seconds / fastest), max(200, made / seconds / 0.5)))
    e["rate"] = min(fastest, made / seconds / e["size"])


def lines_of(e, source):
    """Returns the lines of the source that the leaking memory is allocated at; none if they cannot be known."""
    if not source or source.endswith(".py") and e["engine"] not in ("builtin", "attach"):
        return []
    text = (PROGRAMS / source).read_text().split("\n")
    marks = (f"leak: {e['variant']}", "leak: any" if e["variant"] not in ("lru_cache", "sqlite3", "list") else "-")
    return [f"{source}:{n}" for n, line in enumerate(text, 1) if re.search(r"(//|#) leak: ", line) and line.rstrip().endswith(marks)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default="", help="entries whose name matches")
    args = parser.parse_args()
    for e in draw(args.seed, args.scale):
        if re.search(args.only, e["name"]):
            print(json.dumps(e))


if __name__ == "__main__":
    main()
