"""NO LEAK: functools.lru_cache(maxsize=3000) of pages of 1 to 4 KiB, with ever new keys: full after 20 s at 7.5 MiB, bounded from then on."""

import functools
import random
import pace

random.seed(7)


@functools.lru_cache(maxsize=3000)
def page(number):
    return bytes(random.randint(1024, 4096))


def render(number):
    return page(number).hex()


for tick in pace.ticks(200):
    render(tick * 3 // 4)
