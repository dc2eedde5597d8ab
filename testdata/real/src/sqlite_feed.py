"""sqlite_feed.py grow|bounded: SQL for `sqlite3 :memory:`: 150 rows of 800 bytes a second; bounded deletes all but the last 2,500 (16 s)."""

import sys
import pace

print("create table log(id integer primary key, line text);", flush=True)
for tick in pace.ticks(150):
    print("insert into log(line) values(hex(randomblob(400)));")
    if sys.argv[1] == "bounded":
        print("delete from log where id <= %d;" % (tick - 2500))
    sys.stdout.flush()
