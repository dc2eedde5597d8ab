# LEAK: an array by every line that came, and none is deleted: 100 lines a second of 900 B (lines.py), and their numbers.
{ seen[NR " " $0] = sprintf("%900d", NR) }
