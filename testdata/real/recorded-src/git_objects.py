"""git_objects.py init DIR makes a repository of 600 versions of one file. git_objects.py names DIR RATE prints names of its
objects, at random, RATE a second, for `git cat-file --batch`."""
import random
import subprocess
import sys

import pace

DIR = sys.argv[2]
git = ["/usr/bin/git", "--git-dir", DIR]
if sys.argv[1] == "init":
    subprocess.run(["/usr/bin/git", "init", "-q", "--bare", DIR], check=True)
    random.seed(7)
    lines = ["line %d" % i for i in range(4000)]
    stream = []
    for n in range(1, 601):
        lines[random.randrange(4000)] = "changed in %d" % n
        text = "\n".join(lines)
        stream.append("commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 1\nc\nM 100644 inline file\ndata %d\n%s\n" % (n, len(text), text))
    subprocess.run(git + ["fast-import", "--quiet"], input="".join(stream).encode(), check=True)
    subprocess.run(git + ["repack", "-q", "-a", "-d", "-f"], check=True)
else:
    names = subprocess.run(git + ["rev-list", "--objects", "--all"], capture_output=True, text=True, check=True).stdout.split("\n")
    names = [n.split(" ")[0] for n in names if n]
    random.seed(7)
    for _ in pace.ticks(int(sys.argv[3])):
        print(random.choice(names), flush=True)
