"""A program whose snapshots exceed the 1 MiB at which tcmalloc truncates them: many modules, parsed sources, many call paths.

  py_truncated.py keep   LEAK: `remember` keeps 1,400 B of every request, 80 a second: 110 KiB/s.
  py_truncated.py load   no leak: `request` holds 8,000 B for half a second, at a rate that rises from 20 to 400 a second until the
                         end: at last that is most of the heap.
"""
import ast
import collections
import importlib
import inspect
import pkgutil
import sys
import time

import numpy

MODE = sys.argv[1]
kept, open_requests = [], collections.deque()


def paths(n):
    """Parses the source of a module, at many call paths."""
    module = modules[n % len(modules)]
    try:
        ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        pass


def remember(n):
    kept.append(bytes(1400 + n % 3))


def request(now):
    open_requests.append((now + 0.5, bytearray(8000)))


names = [m.name for m in pkgutil.iter_modules(numpy.__path__, "numpy.")] + [
    "asyncio", "decimal", "email", "html", "http.client", "json", "logging.config", "multiprocessing", "pydoc", "sqlite3", "tarfile",
    "typing", "unittest", "urllib.request", "xml.dom.minidom", "zipfile", "argparse", "csv", "ctypes", "difflib", "doctest"]
modules = []
for name in names:
    try:
        modules.append(importlib.import_module(name))
    except Exception:  # some of NumPy's are for building it
        pass

start, n, due = time.monotonic(), 0, 0.0
while True:
    now = time.monotonic() - start
    while open_requests and open_requests[0][0] <= now:
        open_requests.popleft()
    rate = 80 if MODE == "keep" else 20 + 380 * min(now, 45) / 45
    if now >= due:
        due = due + 1 / rate
        n += 1
        remember(n) if MODE == "keep" else request(now)
        if n % 40 == 0:
            paths(n // 40)
        numpy.linalg.norm(numpy.arange(100.0))
    else:
        time.sleep(due - now)
