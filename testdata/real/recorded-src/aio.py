"""Jobs in asyncio, 60 a second.

  aio.py keep   LEAK: `start` keeps every task in a list, and the task its result of some 2 KB: 120 KB/s.
  aio.py drop   no leak: a task leaves the set when it is done.
"""
import asyncio
import sys

KEEP = sys.argv[1] == "keep"
tasks, running = [], set()


async def job(n):
    await asyncio.sleep(0.5)
    return ("result %d " % n) * 150


def start(n):
    task = asyncio.get_running_loop().create_task(job(n))
    if KEEP:
        tasks.append(task)
    else:
        running.add(task)
        task.add_done_callback(running.discard)


async def main():
    loop = asyncio.get_running_loop()
    begin, n = loop.time(), 0
    while True:
        n += 1
        start(n)
        await asyncio.sleep(max(0, begin + n / 60 - loop.time()))


asyncio.run(main())
