"""LEAK: a logger by request id, logging.getLogger("request.123"): the logging module keeps every one. 250 a second, some 600 bytes each, in pieces."""

import logging
import pace

logging.basicConfig(level=logging.ERROR)


def handle(n):
    log = logging.getLogger("request.%d" % n)
    log.debug("begin")


for tick in pace.ticks(250):
    handle(tick)
