#!/usr/bin/env python3
"""Compares `heaplapse symbolize` with llvm-symbolizer on the ELF files below some directories.

Usage: elf.py [-o DIFFERENCES] HEAPLAPSE DIR…

Files that are equal are compared once. Addresses are spread evenly over the executable sections of
each program and library, at most 400 per file, without .plt, .init and .fini: heaplapse names stubs,
and LLVM gives them to the function before. The functions at an address are compared, inlined ones
included; names are compared without parameters and spaces, because versions of LLVM print them
differently. Debug files are searched in usr/lib/debug of the directories. DIFFERENCES gets a line of
JSON for each address that differs. Exit status 1: an address differs. Addresses that only one of
them can name are counted apart.
"""

import argparse
import collections
import hashlib
import json
import os
import re
import subprocess
import sys

PER_FILE = 400
TIMEOUT = 600  # seconds for one file
PROGRAM, LIBRARY = 2, 3  # ET_EXEC, ET_DYN


def elf_files(dirs):
    """Yields the programs and libraries with 64 bits, little-endian, small ones first."""
    found, seen = [], set()
    for top in dirs:
        for dir, _, names in os.walk(top):
            paths = [os.path.join(dir, name) for name in names]
            found += [(os.path.getsize(p), p) for p in paths if os.path.isfile(p) and not os.path.islink(p)]
    for _, path in sorted(found):
        with open(path, "rb") as f:
            head = f.read(18)
            if head[:6] != b"\x7fELF\x02\x01" or int.from_bytes(head[16:18], "little") not in (PROGRAM, LIBRARY):
                continue
            digest = hashlib.sha1(head + f.read()).digest()
        if digest not in seen:
            seen.add(digest)
            yield path


def addresses(path):
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, errors="replace").stdout
    ranges = []
    for line in sections.splitlines():
        m = re.search(r"\] (?!\.plt|\.init|\.fini)\S+ +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +[A-Z]*X", line)
        if m:
            ranges.append((int(m[1], 16), int(m[2], 16)))
    total = sum(size for _, size in ranges)
    step = max(total // PER_FILE, 1)
    return [start + at for start, size in ranges for at in range(0, min(size, step * PER_FILE), step)][:PER_FILE]


def run(command, addrs):
    """Returns the functions at each address, innermost first, or None if the program fails."""
    text = "".join(f"{a:#x}\n" for a in addrs)
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None
    blocks = [block.splitlines()[::2] for block in done.stdout.split("\n\n") if block.strip()]
    return blocks if len(blocks) == len(addrs) else None


def plain(name):
    return re.sub(r"\(.*|\s|@.*", "", name)


def compare(heaplapse, path, debug):
    """Returns the addresses of a file, and those that differ with both answers."""
    addrs = addresses(path)
    if not addrs:
        return [], []
    ours = run([heaplapse, "symbolize", "-e", path, "--no-cache", *(f"--debug-dir={d}" for d in debug)], addrs)
    theirs = run(["llvm-symbolizer", "-i", "-C", "-e", path, *(f"--debug-file-directory={d}" for d in debug)], addrs)
    if ours is None or theirs is None:
        print(f"{path}: no answer of {' and '.join(['heaplapse'] * (ours is None) + ['llvm-symbolizer'] * (theirs is None))}")
        return [], []
    wrong = [(a, o, t) for a, o, t in zip(addrs, ours, theirs) if [*map(plain, o)] != [*map(plain, t)]]
    return addrs, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", default=os.devnull)
    parser.add_argument("heaplapse")
    parser.add_argument("dirs", nargs="+")
    args = parser.parse_args()
    debug = [d for top in args.dirs for d, _, _ in os.walk(top) if d.endswith("/usr/lib/debug")]
    count = collections.Counter()
    with open(args.o, "w") as out:
        for path in elf_files(args.dirs):
            addrs, wrong = compare(args.heaplapse, path, debug)
            count["files"] += bool(addrs)
            count["addresses"] += len(addrs)
            differ = [w for w in wrong if ["??"] not in w[1:]]
            count["ours"] += sum(t == ["??"] for _, _, t in wrong)
            count["theirs"] += sum(o == ["??"] for _, o, _ in wrong)
            count["differ"] += len(differ)
            for a, o, t in wrong:
                out.write(json.dumps({"file": path, "address": hex(a), "heaplapse": o, "llvm": t}) + "\n")
            for a, o, t in differ[:1]:
                print(f"{path}: {len(differ)} differ: {a:#x}: {' < '.join(o)}; llvm-symbolizer: {' < '.join(t)}", flush=True)
    print(f"{count['files']} files, {count['addresses']} addresses: {count['differ']} differ, "
          f"{count['ours']} are named by heaplapse only, {count['theirs']} by llvm-symbolizer only")
    sys.exit(count["differ"] > 0)


main()
