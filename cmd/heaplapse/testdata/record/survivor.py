# A worker that goes on when the program has ended, until the file STOP.worker is there. The program ends when the file
# STOP is there.
import os, time

kept = [bytearray(1 << 20) for _ in range(10)]
end = os.environ["STOP"] + ("" if os.fork() else ".worker")
while not os.path.exists(end):
    kept.append("x" * 10000)
    time.sleep(0.01)
