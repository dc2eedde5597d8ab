import functools
import json
import time

sessions = {}


def handle(request):
    sessions[request] = json.loads(body(request))  # never removed
    return render(request % 700)


@functools.lru_cache(maxsize=500)
def render(page):
    return "<p>%d</p>" % page * 2000  # 24 KB, of 500 pages at most


def body(request):
    return json.dumps({"user": "u%d" % request, "items": list(range(1000, 1200))})


def main():
    for request in range(4000):
        handle(request)
        time.sleep(0.0025)


main()
