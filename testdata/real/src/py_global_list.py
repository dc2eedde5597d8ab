"""LEAK: each event is parsed from JSON and appended to a global list: 150 a second, dicts and strings of some 900 bytes together, 130 KiB/s."""

import json
import pace

TEXT = json.dumps({"id": 123456, "tags": ["one", "two", "three"], "text": "t" * 300, "place": {"x": 1.5, "y": 2.5}})
events = []


def on_event(n):
    events.append(json.loads(TEXT.replace("123456", str(n))))


for tick in pace.ticks(150):
    on_event(tick)
