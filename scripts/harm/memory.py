"""Reads files that need much memory with --max-memory: no process takes more than a tenth above the limit.
Usage: memory.py HEAPLAPSE WORKDIR [PATTERN]"""
import gzip
import os
import random
import re
import subprocess
import sys

heaplapse, work = sys.argv[1:3]
pattern = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
MIB = 1 << 20
LIMITS = 100, 300  # MiB
ABOVE = 1.1


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def strings():
    """The table of strings of a profile: 150 million empty ones."""
    for _ in range(150):
        yield b"\x32\0" * MIB


def deep():
    """15,000 samples of 20,000 frames each."""
    sample = message(2, message(1, b"\1" * 20000))
    for _ in range(15000):
        yield sample


def locations():
    """Three million locations, functions and names."""
    for i in range(1, 3_000_000):
        yield message(4, b"\x08" + varint(i) + b"\x18" + varint(i * 16) + message(4, b"\x08" + varint(i)))
        yield message(5, b"\x08" + varint(i) + b"\x10" + varint(i))
        yield message(6, b"function_%d" % i)


def labels():
    """Samples with labels."""
    for i in range(1_500_000):
        yield message(2, message(1, b"\1") + message(2, b"\1\1") + message(3, b"\x08\1\x10" + varint(i + 1)))


def addresses(n, i):
    return " ".join("0x%x" % (0x400000 + (i * 7919 + j * 31) % (1 << 40)) for j in range(n)).encode()


def rows():
    """Different stacks of gperftools."""
    yield b"heap profile: 1: 1 [1: 1] @ heapprofile\n"
    for i in range(600_000):
        yield b"1: 10 [1: 10] @ " + addresses(20, i) + b"\n"


def long_rows():
    """Rows of a hundred thousand addresses."""
    yield b"heap profile: 1: 1 [1: 1] @ heapprofile/131072\n"
    for i in range(200):
        yield b"1: 10 [1: 10] @ " + addresses(100_000, i) + b"\n"


def mappings():
    """Two million mappings."""
    yield b"heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x1\n\nMAPPED_LIBRARIES:\n"
    for i in range(2_000_000):
        at = 0x10000 + i * 0x2000
        yield b"%x-%x r-xp 00000000 00:00 %d /lib/lib%d.so\n" % (at, at + 0x1000, i, i)


def jemalloc():
    yield b"heap_v2/524288\n  t*: 1: 10 [1: 10]\n  t0: 1: 10 [1: 10]\n"
    for i in range(600_000):
        yield b"@ " + addresses(20, i) + b"\n  t*: 1: 10 [1: 10]\n  t0: 1: 10 [1: 10]\n"


def threads():
    """One stack of jemalloc with rows of four million threads."""
    yield b"heap_v2/524288\n  t*: 1: 10 [1: 10]\n@ 0x1\n  t*: 1: 10 [1: 10]\n"
    for i in range(4_000_000):
        yield b"  t%d: 1: 10 [1: 10]\n" % i


def go_text():
    yield b"heap profile: 1: 1 [1: 1] @ heap/1048576\n"
    for i in range(500_000):
        yield b"1: 10 [1: 10] @ " + addresses(5, i) + b"\n#\t0x%x\tmain.f%d+0x1\t/src/main.go:%d\n\n" % (i, i, i)


def heaptrack_strings():
    yield b"v 10500 3\nx a\nI 1000 1000\n"
    for i in range(3_000_000):
        name = b"function_%d" % i
        yield b"s %x %s\n" % (len(name), name)
        yield b"i %x 1 %x\n" % (i + 4096, i + 1)


def heaptrack_traces():
    yield b"v 10500 3\nx a\nI 1000 1000\ns 1 f\ni 1000 1 1\n"
    for i in range(6_000_000):
        yield b"t 1 %x\n" % i
    yield b"a 10 5\n+ 0\n"


def heaptrack_allocations():
    yield b"v 10500 3\nx a\nI 1000 1000\ns 1 f\ni 1000 1 1\nt 1 0\n"
    for i in range(5_000_000):
        yield b"a %x 1\n+ %x\n" % (i + 1, i)
        if i % 1000 == 0:
            yield b"c %x\n" % i


def massif_snapshots():
    yield b"desc: x\ncmd: a\ntime_unit: ms\n"
    for i in range(1_000_000):
        yield (b"#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=9\nmem_heap_extra_B=0\n"
               b"mem_stacks_B=0\nheap_tree=detailed\nn0: 9 0x%x: f%d (a.c:1)\n" % (i, i, i + 1, i))


def massif_tree():
    yield (b"desc: x\ncmd: a\ntime_unit: ms\n#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B=3000000\n"
           b"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn3000000: 3000000 (heap allocation functions)\n")
    for i in range(3_000_000):
        yield b" n0: 1 0x%x: function_%d (a.c:1)\n" % (i + 1, i)


def v8_wide():
    """A heap profile of Node with millions of functions below one."""
    frame = b'{"callFrame":{"functionName":"f%d","scriptId":"1","url":"file:///a.js","lineNumber":1,"columnNumber":1},"selfSize":8,"id":%d,"children":['
    yield b'{"head":' + frame % (0, 0)
    for i in range(1, 1_500_000):
        yield frame % (i, i) + b"]}" + (b"," if i < 1_499_999 else b"")
    yield b"]},\"samples\":[]}"


def v8_deep():
    frame = b'{"callFrame":{"functionName":"f","scriptId":"1","url":"a.js","lineNumber":1,"columnNumber":1},"selfSize":8,"id":1,"children":['
    yield b'{"head":'
    for _ in range(1_000_000):
        yield frame
    yield b"]}" * 1_000_000 + b"}"


def zeros():
    for _ in range(4096):
        yield bytes(MIB)


def line():
    yield b"heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ "
    for _ in range(1024):
        yield b"x" * MIB


def noise():
    """A text that does not compress: the file is large itself."""
    r = random.Random(1)
    yield b"heap profile: 1: 1 [1: 1] @ heapprofile\n"
    for _ in range(600_000):
        yield b"1: 10 [1: 10] @ " + " ".join("0x%x" % r.getrandbits(47) for _ in range(20)).encode() + b"\n"


FILES = {
    "strings.0001.pb.gz": strings, "strings.0001.pb.zst": strings, "deep.0001.pb.gz": deep, "deep.0001.pb.zst": deep,
    "locations.0001.pb.gz": locations, "labels.0001.pb.gz": labels,
    "rows.0001.heap": rows, "rows.0001.heap.gz": rows, "rows.0001.heap.zst": rows, "noise.0001.heap": noise,
    "long.0001.heap.gz": long_rows, "mappings.0001.heap.gz": mappings, "jemalloc.0001.heap.gz": jemalloc,
    "jemalloc.0001.heap.zst": jemalloc, "threads.0001.heap.gz": threads, "go.0001.heap.gz": go_text,
    "heaptrack.strings.1.gz": heaptrack_strings, "heaptrack.traces.1.zst": heaptrack_traces,
    "heaptrack.allocations.1.zst": heaptrack_allocations,
    "massif.out.1.gz": massif_snapshots, "massif.out.2.gz": massif_tree,
    "wide.heapprofile": v8_wide, "deep.heapprofile.gz": v8_deep,
    "zeros.0001.heap.gz": zeros, "zeros.0001.heap.zst": zeros, "zeros.0001.pb.gz": zeros, "line.0001.heap.gz": line,
}


def write(path, parts):
    if path.endswith(".gz"):
        with gzip.open(path, "wb", 1) as f:
            for part in parts:
                f.write(part)
    elif path.endswith(".zst"):
        p = subprocess.Popen(["zstd", "-q", "-1", "-f", "-o", path], stdin=subprocess.PIPE)
        for part in parts:
            p.stdin.write(part)
        p.stdin.close()
        if p.wait() != 0:
            raise SystemExit("zstd failed")
    else:
        with open(path, "wb") as f:
            for part in parts:
                f.write(part)


def read(command, path, limit):
    """The status, the peak in MiB and the message of a command."""
    error = work + "/said"
    with open(error, "wb") as err:
        p = subprocess.Popen([heaplapse, command, "--no-cache", "--max-memory", "%dMiB" % limit, path],
                             stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
    with open(error, errors="replace") as f:
        said = f.read().strip().splitlines()
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024, said[-1] if said else ""


def main():
    failed = False
    for name, make in FILES.items():
        if not pattern.search(name):
            continue
        path = work + "/" + name
        write(path, make())
        for limit in LIMITS:
            for command in "info", "top":
                status, peak, said = read(command, path, limit)
                good = status in (0, 2) and peak <= ABOVE * limit
                failed |= not good
                print("%s    %s, %d KiB: %s --max-memory %dMiB took %.0f MiB, status %d%s" % (
                    "holds" if good else "FALLS", name, os.path.getsize(path) >> 10, command, limit, peak, status,
                    ": " + said.replace(work + "/", "")[:110] if said else ""), flush=True)
        os.remove(path)
    sys.exit(failed)


main()
