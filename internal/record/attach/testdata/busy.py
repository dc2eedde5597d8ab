# Allocates and checks objects in several threads, until SIGTERM.
import signal, sys, threading

stop = False
def on_term(*_):
    global stop
    stop = True
signal.signal(signal.SIGTERM, on_term)

def work(seed):
    table = {}
    n = seed
    while not stop:
        n = (n * 1103515245 + 12345) & 0x7fffffff
        key = n >> 8 & 255
        if key in table:
            want, text, parts = table[key]
            assert text == str(want) * 20 and sum(parts) == want % 97 * 40, "data is wrong"
        table[key] = (n, str(n) * 20, [n % 97] * 40)

print("ready", flush=True)
threads = [threading.Thread(target=work, args=(i,)) for i in range(2, 1 + int(sys.argv[1]))]
for t in threads:
    t.start()
work(1)
for t in threads:
    t.join()
print("done")
