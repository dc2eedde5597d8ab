# Uses memory as a server does that is written in Python: 16 threads build strings of some kilobytes, one thread after
# the other, and keep little. Then the same with small objects. For each line on its input it calls malloc_trim(0).
import ctypes
import sys
import threading

THREADS, REQUESTS = 16, 4000
kept, turn, done = [], threading.Lock(), threading.Barrier(17)


def work():
    with turn:
        parts = [bytes(2000 + i % 2000) for i in range(REQUESTS)]
        kept.append(parts[-1])
        del parts
    done.wait()
    threading.Event().wait()


for _ in range(THREADS):
    threading.Thread(target=work, daemon=True).start()
done.wait()
if "small" in sys.argv:
    many = [[i] for i in range(600000)]
    kept.append(many[::60])
    del many
print("ready", flush=True)
for _ in iter(sys.stdin.readline, ""):
    ctypes.CDLL(None).malloc_trim(0)
    print("done", flush=True)
