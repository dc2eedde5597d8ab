"""An application that keeps what it knows about every request. LEAK=0 keeps nothing. The cache is full after two seconds."""

import os
import time

history = []
pages = {}


def handle(request):
    history.append(f"request {request}: ".ljust(6000, "x"))


def render(request):
    pages[request % 512] = bytearray(16 * 1024)


def main():
    leak = os.environ.get("LEAK") != "0"
    request, end = 0, time.monotonic() + 12
    while time.monotonic() < end:
        handle(request)
        render(request)
        if not leak:
            history.pop()
        request += 1
        time.sleep(0.002)


main()
