"""redis_subscribers.py PORT RATE: one client subscribes to a channel and stops reading; RATE messages a second of 2,000 bytes are
published. Redis keeps them in the client's output buffer (without client-output-buffer-limit)."""
import socket
import sys

import pace

port = int(sys.argv[1])
slow = socket.create_connection(("127.0.0.1", port))
slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
slow.sendall(b"SUBSCRIBE news\r\n")
s = socket.create_connection(("127.0.0.1", port))
for tick in pace.ticks(int(sys.argv[2])):
    s.sendall(b"*3\r\n$7\r\nPUBLISH\r\n$4\r\nnews\r\n$2000\r\n%b\r\n" % (b"m" * 2000))
    s.recv(100)
