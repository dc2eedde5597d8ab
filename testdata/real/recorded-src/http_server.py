"""A server of HTTP on PORT (http.server, a thread per connection). Beside it, every answer is built and dropped.

  http_server.py PORT keep   LEAK: `remember` keeps the body of every tenth request in a dict, by the request's number.
  http_server.py PORT drop   no leak: it deletes those that are older than 300.
"""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, KEEP = int(sys.argv[1]), sys.argv[2] == "keep"
bodies, number = {}, 0


def remember(body):
    global number
    number += 1
    if number % 10 == 0:
        bodies[number] = bytearray(body)
        if not KEEP:
            bodies.pop(number - 3000, None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        remember(self.rfile.read(int(self.headers["Content-Length"])))
        answer = b"\n".join(b"line %d" % i for i in range(300))
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
