import os
import sys
import time

LEAKS = sys.argv[1] == "leak"
SESSIONS, PAGES = [], {}


def handle(worker, n):
    page = PAGES.setdefault(n % 200, render(n))
    if LEAKS and worker == 2:
        remember(n, page)


def remember(n, page):
    SESSIONS.append([page.upper(), n])


def render(n):
    return "<p>%d</p>" % n + "x" * 8000


def serve(worker):
    for n in range(1200):
        handle(worker, n)
        time.sleep(0.006)


workers = []
for worker in range(1, 4):
    pid = os.fork()
    if pid == 0:
        serve(worker)
        sys.exit(0)
    workers.append(pid)
for pid in workers:
    os.waitpid(pid, 0)
