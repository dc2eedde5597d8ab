"""An HTTP service with two workers, which share a socket. Each keeps the body of every request; LEAK=0 keeps none.

The parent process is its own client: it sends requests for 12 seconds, and ends the workers.
"""

import http.client
import http.server
import multiprocessing
import os
import time

LEAK = os.environ.get("LEAK") != "0"
bodies = []
pages = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        remember(body)
        render(body)
        if not LEAK:
            bodies.pop()
        self.send_response(204)
        self.end_headers()

    def log_message(self, format, *arguments):
        pass


def remember(body):
    bodies.append(body.decode().upper())


def render(body):
    pages[len(pages) % 256] = bytearray(16 * 1024)


def main():
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=server.serve_forever) for _ in range(2)]
    for worker in workers:
        worker.start()
    end = time.monotonic() + 12
    while time.monotonic() < end:
        connection = http.client.HTTPConnection(*server.server_address)
        connection.request("POST", "/", "x" * 8000)
        connection.getresponse().read()
        connection.close()
        time.sleep(0.002)
    for worker in workers:
        worker.terminate()
        worker.join()


main()
