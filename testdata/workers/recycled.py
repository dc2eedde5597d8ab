"""Three workers, of which one runs for as long as the program, and the others are replaced.

usage: recycled.py leak|cache. Each keeps what it handles: all of it, or the last 1500.
"""
import os
import sys
import time

LIVES = [(0, 40), (0, 12), (13, 12), (26, 12)]  # start and length, in seconds
kept = {}


def handle(number):
    kept[number if sys.argv[1] == "leak" else number % 1500] = bytearray(6000)


def serve(seconds):
    end = time.time() + seconds
    number = 0
    while time.time() < end:
        for _ in range(10):
            handle(number)
            number += 1
        time.sleep(0.1)
    os._exit(0)


begin = time.time()
for start, seconds in LIVES:
    time.sleep(max(0, begin + start - time.time()))
    if os.fork() == 0:
        serve(seconds)
for _ in LIVES:
    os.wait()
