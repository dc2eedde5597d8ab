"""pg_load.py SOCKETDIR prepare|query: two sessions of psql, 30 statements a second each.

Both read and write a table. With prepare, the first session also prepares a statement with every request, and never
deallocates it: its backend keeps each of them.
"""
import subprocess
import sys

import pace

psql = ["/usr/bin/psql", "-q", "-X", "-h", sys.argv[1], "-U", "postgres", "postgres"]
subprocess.run(psql, input=b"create table item(id int primary key, text text, n int); insert into item select i, repeat('x', 200), i from generate_series(1, 2000) i;", check=True, stdout=subprocess.DEVNULL)
sessions = [subprocess.Popen(psql, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(2)]
for tick in pace.ticks(30):
    for i, session in enumerate(sessions):
        sql = "select sum(n), max(text) from item where id between %d and %d; update item set n = n + 1 where id = %d;" % (tick % 1500, tick % 1500 + 300, tick % 2000 + 1)
        if i == 0 and sys.argv[2] == "prepare":
            sql += " prepare p%d(int) as select text, n from item where id = $1 and n > %d order by n;" % (tick, tick)
        session.stdin.write(sql.encode() + b"\n")
        session.stdin.flush()
