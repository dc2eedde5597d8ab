# Parses documents and keeps some of them: many small objects and a few large ones.
import json
document = json.dumps([{"id": i, "name": "n%d" % i, "tags": ["a", "b", str(i)], "text": "x" * 700} for i in range(300)])
kept = []
for i in range(1000):
    parsed = json.loads(document)
    if i % 10 == 0:
        kept.append(parsed)
