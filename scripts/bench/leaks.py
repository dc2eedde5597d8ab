#!/usr/bin/env python3
"""Judges the recordings of leaks.sh. Usage: leaks.py HEAPLAPSE WORKDIR ROUNDS KIND…"""

import collections
import json
import os
import re
import subprocess
import sys
from datetime import datetime

LEAKS = {
    "go": ["main.(*sessions).remember", "main.readOrder", "main.(*audit).read", "main.(*reservations).hold",
           "main.(*feed).subscribe"],
    "node": ["openSession", "listen", "remind", "(external)"],
    "heaptrack": ["shop::Sessions::open", "shop::AuditLog::append", "shop::Metrics::observe", "shop::greet"],
}
LEAKS["massif"] = LEAKS["heaptrack"]
# What the leaks of others make grow: goroutines that never end have descriptors.
FOLLOWS = {"go": ["runtime.malg"]}
MIB = 1 << 20


def run(heaplapse, command, path):
    out = subprocess.run([heaplapse, command, "-q", "--format", "json", path] + ["--all"] * (command == "growth"),
                         capture_output=True, text=True)
    if not out.stdout:
        sys.exit(f"{path}: {out.stderr}")
    return json.loads(out.stdout)


def full_at(path, snapshots):
    """The share of the series after which the server's cache was full; None if it did not say so."""
    with open(path + ".log") as log:
        m = re.search(r"^(\S+ \S+) the cache is full", log.read(), re.M)
    if not m:
        return 1.0
    full = datetime.strptime(m[1], "%Y/%m/%d %H:%M:%S").astimezone().timestamp()
    times = [datetime.fromisoformat(re.sub(r"\.\d+", "", s["time"]).replace("Z", "+00:00")).timestamp()
             for s in snapshots]
    return max(0.0, (full - times[0]) / (times[-1] - times[0]))


def main():
    heaplapse, work, rounds, *kinds = sys.argv[1:]
    total = collections.defaultdict(collections.Counter)
    for kind in kinds:
        for n in range(1, int(rounds) + 1):
            path = os.path.join(work, kind, str(n))
            if not os.path.exists(path):
                continue
            result, t = run(heaplapse, "growth", path), total[kind]
            leaks = LEAKS.get(kind, [])
            sites = collections.defaultdict(list)
            for site in result["sites"]:
                sites[site["blame"]["function"]].append(site)
            called = [f for f, s in sites.items() if any(x["label"].startswith("leak") for x in s)]
            # A leak counts if it grew by at least 1 MiB in the series.
            due = [f for f in leaks if max((s["growth_bytes"] for s in sites[f]), default=0) >= MIB]
            found = [f for f in due if f in called]
            alarms = [f for f in called if f not in leaks + FOLLOWS.get(kind, [])]
            if kind.endswith("-quiet"):
                due = found = []
            note, counted = "", True
            if kind.startswith("go"):
                share = full_at(path, run(heaplapse, "info", path)["snapshots"])
                counted = share <= 2 / 3
                note = f"cache full at {share:.0%}"
            t["series"] += 1
            t["leaks"] += len(due)
            t["found"] += len(found)
            t["alarms"] += len(alarms) if counted else 0
            t["uncounted"] += 0 if counted else 1
            missed = [f"{f} ({sites[f][0]['label'] if sites[f] else 'no site'})" for f in due if f not in found]
            print(f"{kind} {n}: {len(found)} of {len(due)};", "missed", ", ".join(missed) or "none;",
                  "false", ", ".join(alarms) or "none;", note)
    print("\n| kind | series | leaks of 1 MiB and more | found | false alarms | caches that filled too late |")
    print("|---|---|---|---|---|---|")
    for kind in kinds:
        t = total[kind]
        print(f"| {kind} | {t['series']} | {t['leaks']} | {t['found']} | {t['alarms']} | {t['uncounted']} |")


main()
