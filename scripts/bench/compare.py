#!/usr/bin/env python3
"""Runs two leaking programs and redis under heaplapse and other heap profilers, and compares what that costs and what
each tool's own report names first.

usage: compare.py WORKDIR [ROUNDS [PROGRAM…]]      3 rounds of server, service and redis by default

Needs g++, python3 with NumPy, redis-server, heaptrack, valgrind, libjemalloc2, libjemalloc-dev (jeprof) and heaplapse
in PATH; PYTHON is a Python with NumPy, TOOLS the tools to run (default: all); MEMRAY, ASYNC_PROFILER and JFR_CONVERTER are the paths of memray, libasyncProfiler.so and jfr-converter.jar
(Maven Central: tools.profiler). A tool that is missing is left out. WORKDIR/reports keeps the report of each tool.

In each round every tool runs once, beside a bare run. A row has the median ratio of processor time (all processes,
the tool's own included), the peak memory of the largest process and the size of the output in MiB, and the order in
which the report names the functions of the program. The leaks are open_session and remember.
"""
import glob
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent / "compare"
work = pathlib.Path(sys.argv[1]).resolve()
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
memray, profiler, converter = (os.environ.get(name, "") for name in ("MEMRAY", "ASYNC_PROFILER", "JFR_CONVERTER"))
python = os.environ.get("PYTHON", "/usr/bin/python3")
jemalloc = next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), "")

REDIS = """d=$(mktemp -d)
%s redis-server --port 0 --unixsocket $d/s --save "" >/dev/null 2>&1 &
until redis-cli -s $d/s ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s $d/s -q -n 30000 -r 20000 -d 200 -t set,lpush >/dev/null
redis-cli -s $d/s shutdown nosave >/dev/null 2>&1
wait
rm -r $d"""
# The program's arguments, and its functions, the leak first.
PROGRAMS = {
    "server": ([str(work / "server"), "150000"], ["open_session", "cache_page", "parse"]),
    "service": ([python, str(here / "service.py"), "20000"], ["remember", "render", "parse"]),
    "redis": (["redis"], []),
}
# Of each tool: the words before the program, the environment, and the command that prints the report.
TOOLS = {
    "heaplapse": (["heaplapse", "record", "-q", "--every", "100ms", "-o", "OUT/heap", "--"], {}, "heaplapse growth -q OUT/heap"),
    "heaptrack": (["heaptrack", "-o", "OUT/heaptrack"], {}, "heaptrack_print OUT/heaptrack.*"),
    "massif": (["valgrind", "-q", "--tool=massif", "--massif-out-file=OUT/massif"], {}, "ms_print OUT/massif"),
    "jemalloc": ([], {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,prof_final:true,lg_prof_sample:17,prof_prefix:OUT/j"},
                 "jeprof --text PROGRAM OUT/j.*"),
    "async-profiler": ([], {"LD_PRELOAD": profiler, "ASPROF_COMMAND": "start,nativemem=128k,cstack=dwarf,file=OUT/ap.jfr"},
                       f"java -jar {converter} --nativemem --leak -o collapsed OUT/ap.jfr OUT/ap.txt >&2; "
                       "awk '{print $NF, $0}' OUT/ap.txt | sort -nr"),
    "memray": ([memray, "run", "-q", "-o", "OUT/memray.bin"], {}, f"{memray} summary OUT/memray.bin"),
}


def usable(tool, program):
    before, env, _ = TOOLS[tool]
    if tool not in os.environ.get("TOOLS", " ".join(TOOLS)).split():
        return False
    if tool == "memray":
        return bool(memray) and program == "service"
    return shutil.which(before[0]) is not None if before else os.path.exists(env["LD_PRELOAD"])


def command(program, tool, out):
    arguments = PROGRAMS[program][0]
    before, env, _ = TOOLS.get(tool, ([], {}, ""))
    before = [w.replace("OUT", str(out)) for w in before]
    settings = {k: v.replace("OUT", str(out)) for k, v in env.items()}
    if program == "redis":
        words = [f"{k}={v}" for k, v in settings.items()]
        return ["sh", "-c", REDIS % " ".join((["env"] + words if words else []) + before)], {}
    return before + (arguments[1:] if tool == "memray" else arguments), settings


def run(program, tool):
    """The processor time and the peak memory of a run."""
    out = work / "out" / program / tool
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    words, settings = command(program, tool, out)
    with open(out / "log", "w") as log:
        process = subprocess.Popen(words, env=os.environ | settings, stdout=log, stderr=log, cwd=out)
        _, status, use = os.wait4(process.pid, 0)
    if status != 0:
        print(f"{program} {tool}: status {status}: see {out}/log", file=sys.stderr)
    return use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def report(program, tool):
    """The functions of the program in the order in which the report names them."""
    out = work / "out" / program / tool
    text = TOOLS[tool][2].replace("OUT", str(out)).replace("PROGRAM", PROGRAMS[program][0][0])
    got = subprocess.run(["bash", "-c", text], capture_output=True, text=True, errors="replace")
    path = work / "reports" / f"{program}.{tool}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(got.stdout + got.stderr)
    found = {f: m.start() for f in PROGRAMS[program][1] if (m := re.search(rf"\b{f}\b", got.stdout))}
    return ", ".join(sorted(found, key=found.get)) or "-"


def size(program, tool):
    out = work / "out" / program / tool
    return sum(f.stat().st_size for f in out.rglob("*") if f.is_file()) / (1 << 20)


def main():
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", "-O2", "-g", "-o", str(work / "server"), str(here / "server.cc")], check=True)
    ratios, peaks = {}, {}
    for done in range(1, rounds + 1):
        for program in sys.argv[3:] or PROGRAMS:
            for tool in TOOLS:
                if not usable(tool, program):
                    continue
                bare, memory = run(program, "bare")
                cost, peak = run(program, tool)
                ratios.setdefault((program, tool), []).append(cost / bare)
                peaks.setdefault((program, tool), []).append((memory, peak))
                print(f"round {done}: {program} {tool}: {bare:.2f} s bare, {cost:.2f} s", file=sys.stderr, flush=True)
    print("| program | tool | processor time | peak memory, bare and with the tool | output | named in this order |")
    print("|---|---|---|---|---|---|")
    for (program, tool), list_ in ratios.items():
        memory = (statistics.median(p[i] for p in peaks[program, tool]) for i in range(2))
        print(f"| {program} | {tool} | {statistics.median(list_):.2f} | {' → '.join(f'{m:.0f} MiB' for m in memory)} "
              f"| {size(program, tool):.1f} MiB | {report(program, tool)} |", flush=True)


main()
