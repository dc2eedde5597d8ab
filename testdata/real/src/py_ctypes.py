"""LEAK: a buffer of 4 KiB from C's malloc, through ctypes, 40 a second = 160 KiB/s; only half of the buffers are freed (80 KiB/s stay)."""

import ctypes
import pace

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def call_library(n):
    buffer = libc.malloc(4096)
    ctypes.memset(buffer, n & 255, 4096)
    if n % 2 == 0:
        libc.free(buffer)


for tick in pace.ticks(40):
    call_library(tick)
