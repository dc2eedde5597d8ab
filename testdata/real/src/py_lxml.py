"""lxml (libxml2), a program not written for this: documents of 120 elements, 10 a second.

py_lxml.py keep     LEAK: an element of each document is kept in a list, and with it the whole tree of some 25 KiB: 250 KiB/s at 10 a second
py_lxml.py last     NO LEAK: the last 150 documents are kept, full after 15 s; trees are dropped
"""

import collections
import sys
import pace
from lxml import etree

kept = collections.deque(maxlen=None if sys.argv[1] == "keep" else 150)


def document(n):
    rows = "".join("<row id='%d-%d'><cell>text of %d</cell></row>" % (n, i, i) for i in range(60))
    return ("<table>" + rows + "</table>").encode()


def parse(n):
    tree = etree.fromstring(document(n))
    return tree.find("row[last()]/cell")


for tick in pace.ticks(10):
    kept.append(parse(tick))
