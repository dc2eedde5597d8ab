# The parent keeps little; each of two workers keeps a buffer per step, for argv[2] seconds. argv[1] is how they are started.
import multiprocessing
import sys
import time


def work(seconds):
    kept = []
    end = time.time() + seconds
    while time.time() < end:
        kept.append(bytearray(40_000))
        for _ in range(40):
            bytes(20_000)
        time.sleep(0.003)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    all_workers = [context.Process(target=work, args=(float(sys.argv[2]),)) for _ in range(2)]
    for w in all_workers:
        w.start()
    for w in all_workers:
        w.join()
    print("workers are done")
