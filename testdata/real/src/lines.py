"""lines.py RATE: lines at an even rate, for programs without a clock."""

import sys
import pace

for tick in pace.ticks(int(sys.argv[1])):
    print("line", tick, flush=True)
