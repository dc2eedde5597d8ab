# The parent allocates and frees. Each of two workers keeps a buffer per step and allocates twenty times as
# much that it frees again, until the file $STOP exists. argv[1] is how the workers are started.
import multiprocessing
import os
import signal
import sys
import time


def work(started):
    signal.alarm(300)  # in case the file is never created
    kept = []
    started.wait()
    while not os.path.exists(os.environ["STOP"]):
        kept.append(bytearray(40_000))
        for _ in range(40):
            bytes(20_000)
        time.sleep(0.003)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    started = context.Barrier(3)
    workers = [context.Process(target=work, args=(started,)) for _ in range(2)]
    for w in workers:
        w.start()
    started.wait()
    print("ready", flush=True)
    while any(w.is_alive() for w in workers):
        for _ in range(40):
            bytes(20_000)
        time.sleep(0.003)
    print("workers are done")
