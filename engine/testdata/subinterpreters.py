# Usage: subinterpreters.py COUNT. Four threads run an interpreter each, from 3.12 on with a lock of its own, while the
# main one runs, too. Each allocates COUNT objects of 200 bytes at a line and keeps them; two more interpreters do the
# same and end. The file of an interpreter's code is that of the leak: "keep N.py", "ended N.py".
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

COUNT = int(sys.argv[1])
SIZE = 200 - sys.getsizeof(b"")
SOURCE = """
kept = [None] * {count}
def keep():
    for i in range({count}):
        temporary = [bytes(100) for _ in range(20)]
        kept[i] = bytes({size})
keep()
"""


def run(interpreter, file):
    source = SOURCE.format(count=COUNT, size=SIZE)
    interpreters.run_string(interpreter, f"exec(compile({source!r}, {file!r}, 'exec'), globals())")  # leak run


def main():
    alive = [interpreters.create() for _ in range(4)]
    threads = [threading.Thread(target=run, args=(id, f"keep {n}.py")) for n, id in enumerate(alive)]
    for t in threads:
        t.start()
    for n in range(2):
        ended = interpreters.create()
        run(ended, f"ended {n}.py")
        interpreters.destroy(ended)
    for t in threads:
        t.join()
    kept = [None] * COUNT
    for i in range(COUNT):
        kept[i] = bytes(SIZE)  # leak main
    os._exit(0)  # the other interpreters are alive


main()
