"""redis_talk.py PORT stream|expire RATE

stream: XADD of an entry of some 900 bytes without MAXLEN. expire: SETEX of ever new keys of 800 bytes that live for 8 s.
"""
import random
import socket
import sys

import pace

random.seed(7)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))


def ask(*words):
    s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))
    return s.recv(4096)


for tick in pace.ticks(int(sys.argv[3])):
    text = b"v" * random.randint(700, 900)
    if sys.argv[2] == "stream":
        ask(b"XADD", b"events", b"*", b"text", text + b"%d" % tick)
    else:
        ask(b"SETEX", b"session:%d" % tick, b"8", text)
        ask(b"GET", b"session:%d" % random.randint(max(1, tick - 500), tick))
