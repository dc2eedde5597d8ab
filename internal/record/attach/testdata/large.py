# Allocates objects that are too large for CPython's own allocator, until SIGTERM.
import signal, sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
print("ready", flush=True)
table = {}
n = 1
while True:
    n = (n * 1103515245 + 12345) & 0x7fffffff
    row = table.setdefault(n >> 8 & 255, [])
    if len(row) > 20:
        row.clear()
    row.append(bytearray(600 + n % 5000))
    row[-1] += b"x" * 700
