"""NO LEAK: CPython's json, arenas as by default: documents of random size are written, parsed and dropped."""

import json
import random
import pace

random.seed(7)


def round_trip(n):
    rows = [{"id": i, "name": "row %d" % i, "values": [i / 3, i / 7], "note": "n" * random.randint(0, 900)} for i in range(n)]
    return len(json.loads(json.dumps(rows)))


for tick in pace.ticks(20):
    round_trip(random.randint(10, 1500))
