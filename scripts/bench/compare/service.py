"""A service with a leak, a cache of NumPy arrays that is full after a tenth of the run, and requests of which nothing
is kept. The argument is the number of requests."""
import ctypes
import json
import sys

import numpy

history = []
pages = {}
document = json.dumps([{"id": i, "name": f"n{i}", "tags": ["a", "b", str(i)]} for i in range(40)])


def remember(request):
    history.append(ctypes.create_string_buffer(3000 + request % 100))


def render(request):
    pages[request % 512] = numpy.full(4096, request, dtype="float64")


def parse():
    return len(json.loads(document))


def main():
    for request in range(int(sys.argv[1])):
        parse()
        if request % 2 == 0:
            render(request // 2)
        remember(request)


main()
