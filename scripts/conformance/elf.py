#!/usr/bin/env python3
"""Compares `heaplapse symbolize` with llvm-symbolizer on the ELF files below some directories.

Usage: elf.py HEAPLAPSE DIR…

Addresses are spread evenly over the executable sections of each file, at most 400 per file, without
.plt, .init and .fini: heaplapse names stubs, and LLVM gives them to the function before. The
functions at an address are compared, inlined ones included; names are compared without parameters
and spaces, because versions of LLVM print them differently. Exit status 1: an address differs.
Addresses that only one of them can name are counted apart.
"""

import os
import re
import subprocess
import sys

PER_FILE = 400


def elf_files(dirs):
    for top in dirs:
        for dir, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                path = os.path.join(dir, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as f:
                        if f.read(6) == b"\x7fELF\x02\x01":  # 64 bits, little-endian
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
    return [start + at for start, size in ranges for at in range(0, size, step)][:PER_FILE]


def run(command, addrs):
    text = "".join(f"{a:#x}\n" for a in addrs)
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=600)
    return [block.splitlines()[::2] for block in done.stdout.split("\n\n") if block.strip()]


def plain(name):
    return re.sub(r"\(.*|\s|@.*", "", name)


def main():
    heaplapse, dirs = sys.argv[1], sys.argv[2:]
    files = compared = different = ours_only = theirs_only = 0
    for path in elf_files(dirs):
        addrs = addresses(path)
        if not addrs:
            continue
        ours = run([heaplapse, "symbolize", "-e", path, "--no-cache"], addrs)
        theirs = run(["llvm-symbolizer", "-i", "-C", "-e", path], addrs)
        if not len(ours) == len(theirs) == len(addrs):
            print(f"{path}: {len(addrs)} addresses, {len(ours)} answers, {len(theirs)} of llvm-symbolizer")
            continue
        files += 1
        compared += len(addrs)
        wrong = [(a, o, t) for a, o, t in zip(addrs, ours, theirs) if [*map(plain, o)] != [*map(plain, t)]]
        ours_only += sum(t == ["??"] for _, _, t in wrong)
        theirs_only += sum(o == ["??"] for _, o, _ in wrong)
        wrong = [w for w in wrong if ["??"] not in w[1:]]
        different += len(wrong)
        for a, o, t in wrong[:3]:
            print(f"{path}: {a:#x}: {' < '.join(o)}; llvm-symbolizer: {' < '.join(t)}")
        if len(wrong) > 3:
            print(f"{path}: {len(wrong)} of {len(addrs)} addresses differ")
    print(f"{files} files, {compared} addresses: {different} differ, {ours_only} are named by heaplapse only, "
          f"{theirs_only} by llvm-symbolizer only")
    sys.exit(different > 0)


main()
