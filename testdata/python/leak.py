"""A service that leaks through ctypes, for a recording under tcmalloc.

Truth, per second of wall-clock time:

  LEAK   strdup() of 8191 bytes through ctypes, 100 times a second, never
         freed: 8192 x 100 = 800 KiB/s. Native site: strdup in libc.so.6,
         called by ffi_call_unix64 (libffi) from _ctypes.
  CACHE  a ring of 24 NumPy arrays of 256 KiB (6 MiB), full after 6 s, after
         which each new array replaces the oldest: flat.
  CHURN  JSON and dict work: allocates and frees, no trend.

The imports below are there for their number: with PYTHONMALLOC=malloc each of
their objects is an allocation of its own, and the table of stacks outgrows the
1 MiB that tcmalloc 2.10 writes at most.
"""

import ctypes
import json
import sys
import time

import numpy

import argparse, ast, asyncio, calendar, cmd, codeop, concurrent.futures  # noqa: E401
import configparser, csv, dataclasses, decimal, difflib, dis, doctest, email.mime.text  # noqa: E401
import enum, fractions, ftplib, getpass, gettext, html.parser, http.client, http.server  # noqa: E401
import imaplib, inspect, ipaddress, logging.config, mailbox, multiprocessing, optparse  # noqa: E401
import pathlib, pdb, pickle, pickletools, plistlib, poplib, pprint, pydoc, queue  # noqa: E401
import random, sched, selectors, shelve, shlex, smtplib, socketserver, sqlite3, ssl  # noqa: E401
import statistics, string, tarfile, tempfile, textwrap, tokenize, trace, typing  # noqa: E401
import unittest.mock, urllib.request, uuid, wave, xml.dom.minidom, xml.sax, xmlrpc.client, zipfile  # noqa: E401

libc = ctypes.CDLL(None)
libc.strdup.argtypes = [ctypes.c_char_p]
libc.strdup.restype = ctypes.c_void_p

TEXT = b"x" * 8191
TICKS = 100  # a second
RING = 24


def leak():
    """LEAK: the copy's address is dropped."""
    return libc.strdup(TEXT)


def cache(ring, n):
    """CACHE: bounded."""
    array = numpy.full(32768, n, dtype=numpy.float64)
    if len(ring) < RING:
        ring.append(array)
    else:
        ring[n % RING] = array
    return array[0]


def churn(n):
    """CHURN: parsed, changed, written, dropped."""
    record = {"id": n, "tags": ["tag-%d" % i for i in range(n % 40)], "position": {"x": n / 3, "y": n / 7}}
    text = json.dumps(record)
    again = json.loads(text)
    again["tags"] = sorted(again["tags"], reverse=True)
    return len(json.dumps(again, indent=1))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0
    ring = []
    start = time.monotonic()
    tick = 0
    while seconds == 0 or tick < seconds * TICKS:
        tick += 1
        leak()
        if tick % 25 == 0:
            cache(ring, tick // 25)
        if tick % 5 == 0:
            churn(tick)
        wait = start + tick / TICKS - time.monotonic()
        if wait > 0:
            time.sleep(wait)


main()
