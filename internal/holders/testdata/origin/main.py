# Holds objects in variables that several modules have, and writes how and where: "CASE ADDRESS". The test has what the
# answer must be. The modules are imported in different orders.
import time

import early  # it imports some of the others before their users do
import views
from last import THIRD
from registry import register


def note(case, o):
    print(case, "%x" % id(o), flush=True)


for i in range(30):
    early.store.CACHE[i] = bytes(100 + i)
    views.CREATED.append(bytes(100 + i))
    THIRD.append(bytes(100 + i))
    register(bytes(100 + i))
    views.Model.seen.append(bytes(100 + i))
    views.POOL.items.append(bytes(100 + i))
note("imported_before", early.store.CACHE[20])
note("imported_by_its_user", views.CREATED[20])
note("three_users", THIRD[20])
note("function", register.__closure__[0].cell_contents[20])
note("class", views.Model.seen[20])
note("object", views.POOL.items[20])
print("ready", flush=True)
time.sleep(600)
