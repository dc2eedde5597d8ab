"""A gRPC server that forks its workers: each answers some calls and is replaced. The parent itself uses
gRPC from several threads meanwhile. Usage: prefork.py WORKERS [WAIT]"""
import os
import sys
import threading

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "1"
os.environ.setdefault("GRPC_POLL_STRATEGY", "poll")
import grpc  # noqa: E402
from concurrent import futures  # noqa: E402

AT_A_TIME, CALLS = 4, 5


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request * 2)


def serve(address):
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Echo()], options=[("grpc.so_reuseport", 1)])
    port = server.add_insecure_port(address)
    server.start()
    return server, port


def call(channel):
    body = os.urandom(20000)
    if channel.unary_unary("/echo/Echo")(body, timeout=120, wait_for_ready=True) != body * 2:
        raise SystemExit("a wrong answer")


def worker():
    server, port = serve("localhost:0")
    with grpc.insecure_channel("localhost:%d" % port) as channel:
        for _ in range(CALLS):
            call(channel)
    server.stop(None)
    os._exit(7)


def main():
    if len(sys.argv) > 2:
        print("ready", flush=True)
        sys.stdin.readline()
    helper = os.fork()  # serves what the parent calls
    if helper == 0:
        server, port = serve("unix:prefork.%d.socket" % os.getppid())
        server.wait_for_termination()
    channel = grpc.insecure_channel("unix:prefork.%d.socket" % os.getpid())
    call(channel)
    stop = threading.Event()

    def calls():
        while not stop.is_set():
            bytearray(100000)
            stop.wait(0.001)

    threads = [threading.Thread(target=calls) for _ in range(7)]
    for t in threads:
        t.start()
    bad, running, begun = 0, set(), 0
    while begun < int(sys.argv[1]) or running:
        if begun < int(sys.argv[1]) and len(running) < AT_A_TIME:
            call(channel)
            pid = os.fork()
            if pid == 0:
                worker()
            running.add(pid)
            begun += 1
            continue
        pid, status = os.wait()
        if pid in running:
            running.discard(pid)
            if (code := os.waitstatus_to_exitcode(status)) != 7:
                bad += 1
                print("worker %d: status %d" % (pid, code), file=sys.stderr, flush=True)
    stop.set()
    for t in threads:
        t.join()
    os.kill(helper, 9)
    os.waitpid(helper, 0)
    print("%d workers, %d bad" % (begun, bad), file=sys.stderr, flush=True)
    os._exit(bad != 0)


main()
