#!/usr/bin/env python3
"""Writes the files of this directory again. Usage: make.py [DIR]"""

import gzip
import io
import json
import os
import struct
import sys
import tarfile

DIR = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))

MAPS = "\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 7 /opt/absent/program\n"
ROW = "     1:     4096 [     1:     4096] @ 0x00400100 0x00400200\n"
HEAD = "heap profile:     1:     4096 [     1:     4096] @ heapprofile\n"
GOOD = HEAD + ROW + MAPS


def write(name, content):
    path = os.path.join(DIR, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(content, str):
        content = content.encode()
    with open(path, "wb") as f:
        f.write(content)


def packed(content):
    """Compresses without a time, so that the bytes are the same each time."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as f:
        f.write(content.encode() if isinstance(content, str) else content)
    return out.getvalue()


def raw_zstd(content):
    """Makes a zstd frame of uncompressed blocks: no module is needed."""
    out = b"\x28\xb5\x2f\xfd\x00\x58"  # no checksum, no size; a window of 2 MiB
    parts = [content[i : i + 100_000] for i in range(0, len(content), 100_000)] or [b""]
    for i, part in enumerate(parts):
        out += (len(part) << 3 | (i == len(parts) - 1)).to_bytes(3, "little") + part
    return out


def zstd_run(byte, blocks, head=b""):
    """Makes a zstd frame of a head and of blocks that each repeat one byte 128 Ki times."""
    out = b"\x28\xb5\x2f\xfd\x00\x58"
    if head:
        out += (len(head) << 3).to_bytes(3, "little") + head
    for i in range(blocks):
        out += ((128 << 10) << 3 | 1 << 1 | (i == blocks - 1)).to_bytes(3, "little") + byte
    return out


def snapshot(name, text):
    write("snapshots/" + name, text)


def snapshots():
    snapshot("empty.heap", "")
    snapshot("header-only.heap", HEAD)
    snapshot("cut-in-counts.heap", HEAD + ROW + "     1:    40")
    snapshot("cut-in-address.heap", HEAD + ROW + "     1:     4096 [     1:     4096] @ 0x004001")
    snapshot("cut-in-mappings.heap", GOOD[:-20])
    snapshot("no-rows.heap", "heap profile:     0:        0 [     0:        0] @ heapprofile\n" + MAPS)
    snapshot("no-mappings.heap", HEAD + ROW + "\nMAPPED_LIBRARIES:\n")
    snapshot("header-lies.heap", "heap profile: 99: 999999 [99: 999999] @ heapprofile\n" + ROW + MAPS)
    snapshot("allocated-less-than-in-use.heap", "heap profile: 1: 4096 [1: 1] @ heapprofile\n     1: 4096 [1: 1] @ 0x400100\n" + MAPS)
    most = "9223372036854775807"
    big = f"{most}: {most} [{most}: {most}] @"
    snapshot("largest-counts.heap", f"heap profile: {big} heapprofile\n" + f"{big} 0x400100\n{big} 0x400200\n" + MAPS)
    snapshot("counts-beyond-64-bits.heap", HEAD + ROW + "18446744073709551616: 1 [1: 1] @ 0x400100\n" + MAPS)
    snapshot("negative-counts.heap", "heap profile: -1: -4096 [1: 4096] @ heapprofile\n-1: -4096 [1: 4096] @ 0x400100\n" + MAPS)
    snapshot("address-beyond-64-bits.heap", HEAD + ROW + "1: 1 [1: 1] @ 0x1ffffffffffffffff\n" + MAPS)
    snapshot("highest-address.heap", HEAD + "     1:     4096 [     1:     4096] @ 0xffffffffffffffff 0x0 (nil)\n" + MAPS)
    snapshot("period-huge.heap", "heap profile: 1: 4096 [1: 4096] @ heap_v2/9223372036854775807\n" + ROW + MAPS)
    snapshot("period-negative.heap", "heap_v2/-5\n  t*: 1: 4096 [0: 0]\n" + MAPS)
    snapshot("period-not-a-number.heap", "heap profile: 1: 4096 [1: 4096] @ heap_v2/many\n" + ROW + MAPS)
    snapshot("kind-unknown.heap", "heap profile: 1: 4096 [1: 4096] @ heapprofile_v9\n" + ROW + MAPS)
    snapshot("jemalloc-stack-without-counts.heap", "heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x400100\n@ 0x400200\n  t*: 1: 4096 [0: 0]\n" + MAPS)
    snapshot("jemalloc-counts-without-stack.heap", "heap_v2/524288\n  t*: 1: 4096 [0: 0]\n  t*: 1: 4096 [0: 0]\n  t*: 1: 4096 [0: 0]\n" + MAPS)
    snapshot("symbols-without-end.heap", "--- symbol\nbinary=/opt/absent/program\n0x400100 f\n")
    snapshot("symbols-malformed.heap", "--- symbol\nnothing\n0x f\n0x400100 \n---\n--- heap\n" + GOOD)
    snapshot("binary-after-text.heap", GOOD.encode() + bytes(range(256)) * 4)
    snapshot("invalid-utf8.heap", (HEAD + ROW).encode() + b"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 7 /opt/\xff\xfe\n")
    for name, path in {
        "nul": "/opt/a\0b",
        "escape": "/opt/\x1b[31mred\x1b]0;title\x07",
        "direction": "/opt/\u202egnp.exe",
        "markup": "/opt/</script><script>alert(1)</script>",
        "markdown": "/opt/x|y`z`](javascript:1)",
        "workflow": "/opt/%0A::error::x",
        "long": "/opt/" + "long" * 5000,
        "device": "/dev/zero",
        "process": "/proc/self/mem",
        "above": "/../../../../etc/passwd",
    }.items():
        snapshot(f"path-{name}.heap", HEAD + ROW + f"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 7 {path}\n")
    snapshot("mapping-backwards.heap", HEAD + ROW + "\nMAPPED_LIBRARIES:\n00500000-00400000 r-xp 00000000 08:01 7 /opt/absent/program\n")
    snapshot("mapping-of-everything.heap", HEAD + ROW + "\nMAPPED_LIBRARIES:\n0-ffffffffffffffff r-xp ffffffffffffffff 08:01 7 /opt/absent/program\n")
    overlapping = "".join(f"{0x400000 + i:x}-{0x500000 + i:x} r-xp 0 08:01 {i} /opt/absent/{i}\n" for i in range(3000))
    snapshot("mappings-overlap.heap.gz", packed(HEAD + ROW + "\nMAPPED_LIBRARIES:\n" + overlapping))
    doubled = "a0=x\n" + "".join(f"a{i + 1}=$a{i}$a{i}\n" for i in range(60))
    snapshot("mappings-doubled.heap", HEAD + ROW + "\nMAPPED_LIBRARIES:\n" + doubled + "400000-500000: $a60\n")
    snapshot("stack-deep.heap.gz", packed(HEAD + "     1:     4096 [     1:     4096] @" + " 0x400100" * 60_000 + "\n" + MAPS))
    snapshot("line-long.heap.gz", packed(HEAD + ROW + " " * (3 << 20) + "\n" + MAPS))
    snapshot("line-without-end.heap.gz", packed("heap profile: " + "1" * (8 << 20)))
    snapshot("zeros.heap.gz", packed(bytes(16 << 20)))
    snapshot("zeros.heap.zst", zstd_run(b"\0", 128))
    snapshot("spaces.heap.zst", zstd_run(b" ", 256))
    snapshot("compressed-twice.heap.gz", packed(packed(GOOD)))
    snapshot("compressed-cut.heap.gz", packed(GOOD * 50)[:-30])
    damaged = bytearray(packed(GOOD))
    damaged[-6] ^= 0xFF  # the checksum
    snapshot("compressed-checksum.heap.gz", bytes(damaged))
    snapshot("compressed-garbage.heap.gz", packed(GOOD) + b"garbage")
    snapshot("compressed-cut.heap.zst", raw_zstd(GOOD.encode())[:-20])
    for name, head in {
        "elf": b"\x7fELF\x02\x01\x01" + bytes(200),
        "core": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00" + bytes(200),
        "zip": b"PK\x03\x04" + bytes(60),
        "xz": b"\xfd7zXZ\x00" + bytes(60),
        "json": b'{"a": 1}\n',
        "html": b"<!doctype html><title>login</title>\n",
        "binary": bytes(range(256)) * 4,
        "pprof": b"\x0a\x04\x08\x01\x10\x02" + bytes(10),
        "cpu-profile": struct.pack("<5Q", 0, 3, 0, 10000, 0),
    }.items():
        snapshot(f"not-a-snapshot-{name}.heap", head)


def number(v):
    """Encodes a number as protobuf does."""
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def message(*fields):
    """Encodes a message of (number, value) fields; a value is a number or bytes."""
    out = b""
    for key, v in fields:
        if isinstance(v, int):
            out += number(key << 3) + number(v % (1 << 64))
        else:
            out += number(key << 3 | 2) + number(len(v)) + v
    return out


def profile(
    samples=((1, 1),), location=((1, 1), (3, 0x400100)), line=None, function=((1, 1), (2, 4)), mapping=((1, 1), (2, 0x400000), (3, 0x500000), (5, 5)),
    types=((1, 1, 2), (1, 3, 2)), strings=("", "inuse_space", "bytes", "alloc_space", "leak", "/opt/absent/program"), more=b"",
):
    """Encodes a pprof profile: samples are (location, value)."""
    out = b"".join(message((1, message((1, kind), (2, unit)))) for _, kind, unit in types)
    for where, value in samples:
        out += message((2, message((1, where), *[(2, value)] * len(types))))
    out += message((3, message(*mapping)), (4, message(*location, *([(4, message(*line))] if line else []))))
    return out + message((5, message(*function))) + b"".join(message((6, t.encode())) for t in strings) + more


def profiles():
    for name, content in {
        "good": profile(line=((1, 1), (2, 7))),
        "string-out-of-range": profile(function=((1, 1), (2, 99))),
        "function-out-of-range": profile(line=((1, 99),)),
        "mapping-out-of-range": profile(location=((1, 1), (2, 99))),
        "location-out-of-range": profile(samples=((99, 1),)),
        "id-twice": profile(more=message((4, message((1, 1))))),
        "id-zero": profile(location=((3, 7),)),
        "id-large": profile(location=((1, (1 << 64) - 1), (3, 7)), samples=(((1 << 64) - 1, 1),)),
        "values-missing": profile(more=message((2, message((1, 1), (2, 1))))),
        "values-negative": profile(samples=((1, -1),)),
        "values-overflow": profile(samples=((1, (1 << 63) - 1),) * 3),
        "wire-type": profile(more=number(9 << 3 | 2) + number(1) + b"x"),
        "length": profile() + number(6 << 3 | 2) + number(1 << 40),
        "cut": profile()[:-9],
        "no-strings": profile(strings=()),
        "addresses-all": profile(mapping=((1, 1), (2, 0), (3, (1 << 64) - 1), (5, 5)), location=((1, 1), (2, 1), (3, (1 << 64) - 2))),
        "line-large": profile(line=((1, 1), (2, -1), (3, 1 << 62))),
        "name-control": profile(line=((1, 1),), strings=("", "inuse_space", "bytes", "alloc_space", "\x1b[2J\u202eleak\n", "/opt/\x07")),
        "types-many": profile(types=((1, 1, 2),) * 20_000),
        "stack-deep": profile(more=message((2, message((1, b"\x01" * 100_000), (2, 1), (2, 1))))),
        "lines-many": profile(location=((1, 1), *(((4, message((1, 1))),) * 50_000))),
        "duration": profile(more=message((10, 30_000_000_000))),
        "period-negative": profile(more=message((12, -1))),
        "time-negative": profile(more=message((9, -1))),
    }.items():
        snapshot(f"profile-{name}.pb.gz", packed(content))
    snapshot("profile-cut-gzip.pb.gz", packed(profile(samples=tuple((1, i) for i in range(5000))))[:-40])
    snapshot("profile-strings.pb.gz", packed(profile(more=message((6, b"")) * (8 << 20))))
    snapshot("profile-samples.pb.gz", packed(profile(more=message((2, message((1, 1), (2, 1), (2, 1)))) * (1 << 20))))
    ids = b"".join(message((4, message((1, i), (3, i)))) for i in range(2, 10_000))
    snapshot("profile-locations.pb.gz", packed(profile(more=ids)))


def manifests():
    begin = '{"schema":"heaplapse.manifest/1"}\n'
    deep = "[" * 20_000
    for name, text in {
        "not-json": "nonsense\n",
        "other-schema": '{"schema":"heaplapse.manifest/99"}\n',
        "empty": "",
        "cut": begin + '{"snapshot":{"file":"p.0001.heap","time":"2026-01-0',
        "wrong-types": begin + '{"snapshot":{"file":7,"time":[],"pid":"x"}}\n',
        "file-above": begin + '{"file":{"file":"../../../../etc/passwd","path":"[vdso]","kind":"vdso"}}\n',
        "time-before-all": begin + '{"snapshot":{"file":"p.0001.heap","time":"-9999-01-01T00:00:00Z","pid":1}}\n',
        "numbers-huge": begin + '{"snapshot":{"file":"p.0001.heap","time":"9999-12-31T23:59:59Z","pid":9223372036854775807,"rss_bytes":-1}}\n',
        "nested": begin + '{"process":' + deep + "\n",
    }.items():
        write(f"manifests/{name}/p.0001.heap", GOOD)
        write(f"manifests/{name}/p.0002.heap", GOOD)
        write(f"manifests/{name}/heaplapse.manifest.jsonl", text)


def bundle(name, entries, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, content in entries:
            info = tarfile.TarInfo(path)
            data = content if isinstance(content, bytes) else content.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for path, target in links:
            info = tarfile.TarInfo(path)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    write(f"bundles/{name}.heaplapse.tar.zst", raw_zstd(out.getvalue()))


def index(**changes):
    snapshots = [{"entry": "snapshots/1/p.0001.heap", "path": "/opt/p.0001.heap", "modified": "2026-01-01T00:00:00Z"}]
    whole = {"schema": "heaplapse.bundle/1", "heaplapse": "x", "snapshots": snapshots, "sidecars": [], "files": [], "search": {}}
    whole.update(changes)
    return json.dumps(whole)


def bundles():
    name, entry = "heaplapse.bundle.json", "snapshots/1/p.0001.heap"
    one = {"path": "/opt/p.0001.heap", "modified": "2026-01-01T00:00:00Z"}
    bundle("good", [(name, index()), (entry, GOOD)])
    bundle("empty", [])
    bundle("without-index", [(entry, GOOD)])
    bundle("index-not-json", [(name, "nonsense"), (entry, GOOD)])
    bundle("index-other-schema", [(name, index(schema="heaplapse.bundle/99")), (entry, GOOD)])
    bundle("entry-missing", [(name, index())])
    bundle("entry-twice", [(name, index()), (entry, GOOD), (entry, HEAD)])
    bundle("entry-not-in-index", [(name, index()), (entry, GOOD), ("root/bin/evil", "evil")])
    bundle("entry-above", [(name, index(snapshots=[dict(one, entry="../../evil.heap")])), ("../../evil.heap", GOOD)])
    bundle("entry-absolute", [(name, index(snapshots=[dict(one, entry="/tmp/evil.heap")])), ("/tmp/evil.heap", GOOD)])
    bundle("entry-link", [(name, index())], links=[(entry, "/etc/passwd")])
    bundle("snapshots-none", [(name, index(snapshots=[]))])
    bundle("path-control", [(name, index(snapshots=[dict(one, entry=entry, path="/opt/\x1b[31mp.0001.heap")])), (entry, GOOD)])
    write("bundles/zeros.heaplapse.tar.zst", zstd_run(b"\0", 256))
    write("bundles/not-compressed.heaplapse.tar.zst", GOOD)
    with open(os.path.join(DIR, "bundles/good.heaplapse.tar.zst"), "rb") as f:
        write("bundles/cut.heaplapse.tar.zst", f.read()[:2000])


def programs():
    """ELF files whose headers lie."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)

    def elf(shoff=0, shnum=0, shstrndx=0, phoff=0, phnum=0, body=b""):
        fields = (3, 62, 1, 0, phoff, shoff, 0, 64, 56, phnum, 64, shnum, shstrndx)
        return ident + struct.pack("<HHIQQQIHHHHHH", *fields) + body

    def section(kind=1, off=0, size=0, name=0, flags=0, link=0, entsize=0):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, off, size, link, 0, 1, entsize)

    null = bytes(64)
    write("programs/header-only.elf", elf())
    write("programs/cut.elf", elf()[:40])
    write("programs/sections-beyond-end.elf", elf(shoff=1 << 40, shnum=10))
    write("programs/sections-many.elf", elf(shoff=64, shnum=0xFFFF, body=null * 4))
    write("programs/names-beyond-sections.elf", elf(shoff=64, shnum=2, shstrndx=9, body=null + section()))
    write("programs/section-beyond-end.elf", elf(shoff=64, shnum=2, shstrndx=1, body=null + section(kind=3, off=1 << 30, size=1 << 62)))
    compressed = section(kind=1, off=64 + 192, size=24, name=1, flags=0x800)
    header = struct.pack("<IIQQ", 1, 0, 1 << 50, 1)
    names = b"\0.debug_info\0"
    strings = section(kind=3, off=64 + 192 + 24, size=len(names))
    write("programs/compressed-huge.elf", elf(shoff=64, shnum=3, shstrndx=2, body=null + compressed + strings + header + names))
    symbols = section(kind=2, off=0, size=1 << 20, link=1, entsize=24)
    write("programs/symbols-beyond-end.elf", elf(shoff=64, shnum=2, body=null + symbols))
    write("programs/not-elf.elf", "#!/bin/sh\n")


def traces():
    head = "v 10400 3\ns 1 f\ni 1 0 1 0 0\nt 1 0\na 8 1\n"
    for name, text in {
        "kind-ahead": head + "+ 1\n",
        "string-ahead": head + "i 1 2\n",
        "stack-ahead": head + "a 8 9\n",
        "stack-of-itself": head + "t 1 2\n",
        "stack-deep": head + "".join(f"t 1 {i:x}\n" for i in range(1, 2000)),
        "free-twice": head + "+ 0\n- 0\n- 0\n",
        "size-huge": head + "a ffffffffffffffff 1\n+ 1\n",
        "sum-overflows": head + "a 1000000000000 1\n" + "+ 1\n" * 40_000,
        "time-backwards": head + "c 64\n+ 0\nc 32\nc c8\nR 1\n",
        "time-huge": head + "c ffffffffffffffff\n",
        "pages-huge": head + "c 1\nR ffffffffffffffff\n",
        "string-short": "v 10400 3\ns ffffffffffffffff x\n",
        "format-99": "v 20000 99\n",
        "cut": head + "c 1\n+ 0\nc 64\n+",
        "no-events": "v 10400 3\n",
        "unknown-lines": head + "?\n" * 1000 + "+ 0\nc 1\n",
        "raw-module-wraps": "v 10400 3\nx 2 /x\nm 1 -\nm 2 /a ffffffffffffff00 1000 ffffffffffffffff\nt 10 0\n+ 1 1 1\nc 1\n",
    }.items():
        write(f"traces/heaptrack.{name}", text)
    write("traces/heaptrack.line-long.gz", packed(head + "s " + "x" * 2_000_000 + "\n"))
    write("traces/heaptrack.line-endless.zst", zstd_run(b"x", 4000, head.encode()))
    write("traces/heaptrack.packed-cut.gz", packed(head + "c 1\n" + "+ 0\n" * 3000)[:-20])

    def massif(tree, unit="ms", time="1"):
        return (f"desc: x\ncmd: a\ntime_unit: {unit}\nsnapshot=0\ntime={time}\nmem_heap_B=9\nmem_heap_extra_B=0\n"
                f"mem_stacks_B=0\nheap_tree=detailed\n{tree}")

    for name, text in {
        "no-tree": "desc: x\ncmd: a\ntime_unit: i\nsnapshot=0\nheap_tree=empty\n",
        "tree-cut": massif("n1: 9 (heap)\n n0: 9 0x1: f (a.c:1)\n") + massif("n2: 9 (heap)\n n0: 9 0x1: f (a.c:1)\n")[8:],
        "child-larger": massif("n1: 9 (heap)\n n0: 10 0x1: f (a.c:1)\n"),
        "children-huge": massif("n2147483647: 9 (heap)\n n0: 9 0x1: f (a.c:1)\n"),
        "bytes-huge": massif("n0: 99999999999999999999 (heap)\n"),
        "time-huge": massif("n0: 9 (heap)\n", time="9223372036854775807"),
        "time-negative": massif("n0: 9 (heap)\n", time="-1"),
    }.items():
        write(f"traces/massif.out.{name}", text)
    deep = massif("".join(f"{' ' * i}n1: 9 0x{i:x}: f (a.c:1)\n" for i in range(5000)))
    write("traces/massif.out.deep.gz", packed(deep))


def evidence():
    def memcheck(text):
        return f"<?xml version=\"1.0\"?>\n<valgrindoutput>\n<protocolversion>4</protocolversion>\n{text}"

    def leak(text):
        return memcheck(f"<error><kind>Leak_DefinitelyLost</kind>{text}</error>\n</valgrindoutput>\n")

    # Each entity is ten of the one before.
    laughs = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    for name, text in {
        "entities": f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "x">{laughs}]><valgrindoutput>&e11;</valgrindoutput>',
        "external-entity": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><valgrindoutput>&e;</valgrindoutput>',
        "nested": memcheck("<a>" * 1000),
        "cut": leak("<xwhat><leakedbytes>8</leakedbytes><leakedblocks>1</leakedblocks></xwhat>")[:-40],
        "bytes-huge": leak("<xwhat><leakedbytes>18446744073709551615</leakedbytes></xwhat>"),
        "bytes-negative": leak("<xwhat><leakedbytes>-8</leakedbytes></xwhat>"),
        "direct-more-than-all": leak("<xwhat><text>9 (8 direct, 9 indirect) bytes in 1 blocks</text></xwhat>"),
        "address-huge": leak("<stack><frame><ip>0x1ffffffffffffffff</ip></frame></stack>"),
        "line-huge": leak("<stack><frame><ip>0x1</ip><line>99999999999999999999</line></frame></stack>"),
        "name-control": leak("<xwhat><leakedbytes>8</leakedbytes><leakedblocks>1</leakedblocks></xwhat><stack><frame>"
                             "<ip>0x1</ip><fn>&#27;[31mred&#7;&lt;/script&gt;</fn></frame></stack>"),
        "protocol-99": "<valgrindoutput><protocolversion>99</protocolversion></valgrindoutput>",
        "not-a-report": "<html><body>404</body></html>",
    }.items():
        write(f"evidence/memcheck-{name}.xml", text)
    write("evidence/binary.txt", b"\x7fELF\0\0\0\0")
    write("evidence/memcheck-text.txt", "==1== Memcheck, a memory error detector\n")
    direct = "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n"
    for name, text in {
        "bytes-huge": "Direct leak of 18446744073709551615 byte(s) in 1 object(s) allocated from:\n    #0 0x1 in f a.c:1\n",
        "address-huge": direct + "    #0 0x1ffffffffffffffff in f a.c:1\n",
        "line-huge": direct + "    #0 0x1 in f a.c:99999999999999999999\n",
        "no-frames": direct + "\n",
        "cut": "==1==ERROR: LeakSanitizer: detected memory leaks\n\n" + direct + "    #0 0x1 in f a.c:1\n",
        "no-leak": "all is well\n",
    }.items():
        write(f"evidence/lsan-{name}.txt", text)


def lists():
    write("lists/suppressions-bad-line.supp", "leak:good\nrace:bad\n")
    write("lists/suppressions-bad-date.supp", "# until soon: reason\nleak:x\n")
    write("lists/suppressions-stars.supp", "leak:" + "*a" * 500 + "\n")
    write("lists/rules-bad-pattern.rules", "allocator function (\n")
    write("lists/rules-bad-class.rules", "nonsense function x\n")
    write("lists/rules-long.rules", "allocator function " + "(a|b)" * 8_000 + "\n")
    write("lists/config-not-yaml.yaml", "version: 1\n\tbad: [\n")
    write("lists/config-unknown-key.yaml", "version: 1\nthresholdz: {}\n")
    write("lists/config-anchors.yaml", "version: 1\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)))
    write("lists/config-nested.yaml", "version: 1\nsites: " + "[" * 20_000 + "\n")
    write("lists/perf-backwards.map", "ffffffffffffffff ffffffffffffffff all\n1000 0 none\nnonsense\n400000 100000 f\n")
    write("lists/perf-control.map", "400000 100000 \x1b[31mred\x07</script>\n")


def baselines():
    write("baselines/not-compressed/a.baseline.json.gz", "{}\n")
    write("baselines/not-json/a.baseline.json.gz", packed("nonsense"))
    write("baselines/other-schema/a.baseline.json.gz", packed('{"schema":"heaplapse.baseline/99"}'))
    write("baselines/cut/a.baseline.json.gz", packed('{"schema":"heaplapse.baseline/1"' + " " * 1000)[:-10])
    write("baselines/huge/a.baseline.json.gz", packed('{"schema":"' + "a" * (16 << 20) + '"}'))


snapshots()
profiles()
manifests()
bundles()
programs()
traces()
evidence()
lists()
baselines()
