# Allocates on 70,000 lines, which is more than the built-in engine names. Asks for a snapshot, and ends when the file
# STOP is there.
import os, signal, time

source = "".join("def f%d():\n" % i + " kept.append(bytearray(100))\n" * 70 for i in range(1000))
scope = {"kept": []}
exec(compile(source, "lines.py", "exec"), scope)
for i in range(1000):
    scope["f%d" % i]()
os.kill(os.getpid(), signal.SIGUSR2)
while not os.path.exists(os.environ["STOP"]):
    time.sleep(0.01)
