"""http_load.py PORT RATE [BYTES]: RATE requests a second over four connections, each now and then made anew; POSTs of BYTES, else GETs."""

import http.client
import sys
import pace

port, rate = int(sys.argv[1]), int(sys.argv[2])
body = b"b" * int(sys.argv[3]) if len(sys.argv) > 3 else None
open_ones = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(4)]

for tick in pace.ticks(rate):
    c = open_ones[tick % 4]
    c.request("POST" if body else "GET", "/file%d.txt" % (tick % 50), body)
    c.getresponse().read()
    if tick % 97 == 0:
        c.close()
