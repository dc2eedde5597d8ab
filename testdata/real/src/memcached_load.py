"""memcached_load.py PORT RATE: set of ever new keys with values of 2,000 to 8,000 bytes, and once a second the
question that monitoring asks: memcached's own memory is taken once and for all, so nothing else would reach malloc when it is full."""

import random
import socket
import sys
import pace

random.seed(7)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for tick in pace.ticks(int(sys.argv[2])):
    value = b"v" * random.randint(2000, 8000)
    s.sendall(b"set key%d 0 0 %d\r\n%b\r\n" % (tick, len(value), value))
    s.recv(100)
    if tick % int(sys.argv[2]) == 0:
        s.sendall(b"stats slabs\r\nstats items\r\n")
        answer = b""
        while answer.count(b"END\r\n") < 2:
            answer += s.recv(65536)
