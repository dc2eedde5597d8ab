#!/usr/bin/env python3
"""Records the entries of a plan: OUT/NAME has the recording, and OUT/NAME.log what the recorder and the program print.

    record.py HEAPLAPSE PLAN OUT [AT_ONCE]

What is there is not recorded again. Programs that share the machine with busy loops are recorded after the others.
Needs root, for nginx; and g++, rustc, and what the kinds of programs in plan.py are run by.
"""
import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import load
from plan import PROGRAMS

TICKS = 10  # a second: how evenly requests come
GRACE = 120  # seconds that a program and its recorder have to end


def build(out):
    """Compiles the programs in C, C++ and Rust. Allocations that have no effect are not optimized away."""
    out.mkdir(parents=True, exist_ok=True)
    keep = ["-O2", "-g", "-fno-builtin", "-fno-allocation-dce"]
    subprocess.run(["gcc", *keep, PROGRAMS / "service.c", "-o", out / "service-c"], check=True)
    subprocess.run(["g++", "-std=c++17", *keep, "-pthread", PROGRAMS / "service.cc", "-o", out / "service-cc"], check=True)
    subprocess.run(["rustc", "-O", "--edition", "2021", "-C", "debuginfo=1", PROGRAMS / "service.rs", "-o", out / "service-rs"], check=True)


def python_of(version):
    """Returns the interpreter of this version, or else that of the system."""
    installed = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")) + [shutil.which(f"python{version}")]
    return next((p for p in installed if p and version != "system"), "/usr/bin/python3")


def command_of(e, out):
    """Returns the command of a program, and what it needs in its environment."""
    service = [e["variant"], str(e.get("cap", 0))]
    if "threads" in e:
        service += ["threads", str(e["threads"])]
    if "workers" in e:
        service += ["workers", str(e["workers"])]
    family = e["kind"].split("-")[0]
    if family == "python":
        return [python_of(e["python"]), PROGRAMS / "service.py", *service], {}
    if family in ("c", "cpp", "rust"):
        return [out / "bin" / {"c": "service-c", "cpp": "service-cc", "rust": "service-rs"}[family], *service], {}
    if family == "node":
        options = "--perf-basic-prof --interpreted-frames-native-stack"
        return [shutil.which("node"), PROGRAMS / "service.js", *service], {"NODE_OPTIONS": options} if e["engine"] == "attach" else {}
    if family == "php":
        return ["/usr/bin/php", PROGRAMS / "service.php", *service], {"USE_ZEND_ALLOC": str(e["zend_alloc"])}
    if family == "sqlite":
        return ["/usr/bin/sqlite3", ":memory:"], {}
    if family == "redis":
        return ["/usr/bin/redis-server", "--save", "", "--bind", "127.0.0.1", "--port", str(e["port"])], {}
    if family == "nginx":
        return ["/usr/sbin/nginx", "-p", out / f"{e['name']}.nginx", "-c", "nginx.conf"], {}
    suffix, program = {"perl": ("pl", "/usr/bin/perl"), "lua": ("lua", "/usr/bin/lua5.4"), "ruby": ("rb", "/usr/bin/ruby"),
                       "tcl": ("tcl", "/usr/bin/tclsh")}[family]
    return [program, PROGRAMS / f"service.{suffix}", *service], {}


NGINX = """daemon off;
worker_processes 2;
pid nginx.pid;
error_log errors.log;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_timeout 600s;
  keepalive_requests 1000000;
  gzip on;
  gzip_min_length 1;
  server { listen 127.0.0.1:%d; root www; }
}
"""


def prepare_nginx(e, out):
    top = out / f"{e['name']}.nginx"
    (top / "www").mkdir(parents=True)
    (top / "nginx.conf").write_text(NGINX % e["port"])
    for n in range(8):
        (top / "www" / f"{n}.html").write_text("<p>a line of text</p>\n" * (e["size"] // 40 * (n + 1) + 1))


class Pipe:
    """Sends requests to the standard input of a program."""

    def __init__(self, e, process):
        self.to, self.write = process.stdin, load.sql if e["kind"] == "sqlite" else load.lines
        if e["kind"] == "sqlite":
            self.to.write(load.SQL_TABLES)

    def send(self, e, found):
        self.to.write(self.write(found, e))
        self.to.flush()


def connected(port):
    """Waits for a server, and connects to it."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        time.sleep(0.1)
    raise OSError(f"nothing listens at {port}")


class Redis:
    def __init__(self, e, process):
        self.socket = connected(e["port"])
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        with contextlib.suppress(OSError):
            while self.socket.recv(1 << 16):
                pass

    def send(self, e, found):
        self.socket.sendall(load.redis(found, e))


class Nginx:
    """Keeps connections open: those that are held, by key, and those of recent requests, by slot."""

    def __init__(self, e, process):
        self.port, self.open = e["port"], {}
        connected(self.port).close()

    def send(self, e, found):
        for letter, key, _ in load.bounded(found, e.get("cap", 0)):
            table = "b" if letter == "b" else "k"
            if letter in "db" and (table, key) in self.open:
                self.open.pop((table, key)).close()
            if letter in "kbt":
                kept = self.get(key % 8)
                if letter == "t":
                    kept.close()
                else:
                    self.open[table, key] = kept

    def get(self, page):
        server = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        server.sendall(b"GET /%d.html HTTP/1.1\r\nHost: blind\r\nAccept-Encoding: gzip\r\n\r\n" % page)
        server.recv(1 << 16)
        return server


def feed(e, process, ended):
    """Sends the requests of an entry, each second at its time, until the recording has ended."""
    try:
        to = {"redis": Redis, "nginx": Nginx}.get(e["kind"], Pipe)(e, process)
        start = time.monotonic()
        for second, found in enumerate(load.requests(e)):
            for tick in range(TICKS):
                time.sleep(max(0, start + second + tick / TICKS - time.monotonic()))
                if ended.is_set():
                    return
                to.send(e, found[len(found) * tick // TICKS:len(found) * (tick + 1) // TICKS])
    except OSError:
        pass  # the program has ended


def record(e, heaplapse, out):
    """Records one program, and returns what the judge and a reader need to know of it."""
    if e["kind"] == "nginx":
        prepare_nginx(e, out)
    command, variables = command_of(e, out)
    environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    attached = e["engine"] == "attach"
    flags = [*e["flags"], "--duration", f"{e['seconds']}s", "-o", out / e["name"]]
    recorder = [heaplapse, "record", "--engine", e["engine"], *flags, *(["--jit"] if e["kind"] == "node" else []), "--"]
    ended = threading.Event()
    with open(out / f"{e['name']}.log", "wb") as log:
        process = subprocess.Popen([*([] if attached else recorder), *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=log, env=environment, cwd=out, start_new_session=True)
        feeder = threading.Thread(target=feed, args=(e, process, ended))
        feeder.start()
        if attached:
            time.sleep(e["attach_after"])
            status = subprocess.run([heaplapse, "attach", *flags, str(process.pid)], stdout=log, stderr=log, env=environment).returncode
            process.terminate()
        try:
            recorded = process.wait(GRACE + (0 if attached else e["seconds"]))
        except subprocess.TimeoutExpired:
            recorded = "did not end"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also workers that wait for their siblings to close a pipe
        ended.set()
        feeder.join()
        with contextlib.suppress(OSError):
            process.stdin.close()
    return {"name": e["name"], "status": status if attached else recorded, "command": [str(c) for c in command], "load_average": os.getloadavg()[0],
            "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def main():
    heaplapse, plan, out = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    at_once = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    os.nice(10)
    build(out / "bin")
    done = out / "recorded.jsonl"
    before = {json.loads(line)["name"] for line in done.read_text().splitlines()} if done.exists() else set()
    entries = [json.loads(line) for line in plan.read_text().splitlines()]
    for number, e in enumerate(entries):
        e["port"] = 17000 + number
    for busy in (False, True):
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy * os.cpu_count())]
        wanted = sorted((e for e in entries if e["busy"] == busy and e["name"] not in before), key=lambda e: -e["seconds"])
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for result in pool.map(lambda e: record(e, heaplapse, out), wanted):
                with open(done, "a") as file:
                    file.write(json.dumps(result) + "\n")
                print(result["name"], result["status"], flush=True)
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    main()
