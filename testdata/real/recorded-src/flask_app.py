"""An application of Flask, for gunicorn with three workers.

  MODE=keep   LEAK in every worker: `page` appends the rendered page of every request to a list of the module.
  MODE=drop   no leak: a deque of the last 100.
"""
import collections
import os

from flask import Flask, render_template_string, request

app = Flask(__name__)
history = [] if os.environ["MODE"] == "keep" else collections.deque(maxlen=100)
TEMPLATE = "<ul>{% for i in range(60) %}<li>{{ i }} {{ path }} {{ i * i }}</li>{% endfor %}</ul>"
number = 0


@app.route("/<path:path>", methods=["GET", "POST"])
def page(path):
    global number
    number += 1
    text = render_template_string(TEMPLATE, path=path)
    history.append("%d\n%s" % (number, text * 2))
    return text
