"""NO LEAK: modules of the standard library are imported when first needed, in four groups after 5, 11, 17 and 23 s; steps, then flat."""

import importlib
import json
import pace

GROUPS = {
    5: ["asyncio", "http.server", "email.mime.text", "logging.config"],
    11: ["unittest.mock", "xml.dom.minidom", "sqlite3", "multiprocessing"],
    17: ["decimal", "pydoc", "pickletools", "tarfile", "mailbox"],
    23: ["doctest", "smtplib", "imaplib", "ftplib", "xmlrpc.client", "urllib.request"],
}


def need(second):
    for name in GROUPS.get(second, []):
        importlib.import_module(name)


def serve(n):
    return json.loads(json.dumps({"n": n, "list": list(range(200))}))


for tick in pace.ticks(100):
    if tick % 100 == 0:
        need(tick // 100)
    serve(tick)
