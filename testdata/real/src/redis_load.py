"""redis_load.py PORT RATE: SET of ever new keys with values of 600 to 1,000 bytes, and GET of random ones."""

import random
import socket
import sys
import pace

random.seed(7)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))


def ask(*words):
    s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))
    return s.recv(4096)


for tick in pace.ticks(int(sys.argv[2])):
    ask(b"SET", b"key:%d" % tick, b"v" * random.randint(600, 1000))
    ask(b"GET", b"key:%d" % random.randint(1, tick))
