"""Records a program while the file system of the output breaks. The program ends in its own time and 2 s.
Usage: filesystems.py HEAPLAPSE WORKER WORKDIR AT_A_TIME [PATTERN]"""
import concurrent.futures
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time

heaplapse, worker, work, parallel = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
pattern = re.compile(sys.argv[5] if len(sys.argv) > 5 else "")
here = os.path.dirname(os.path.abspath(__file__))
LIFE = 4.0  # seconds of the program
ALLOWED = 2.0  # more, with heaplapse


def busy():
    """Seconds more in which a machine that does other things, too, starts a program and lets it run."""
    return max(1, os.getloadavg()[0] / os.cpu_count() / 4)


def sh(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Frozen:
    """An ext4 that is frozen."""

    def __init__(self, dir):
        self.image, self.mount = dir + "/image", dir + "/mnt"
        os.mkdir(self.mount)
        with open(self.image, "wb") as f:
            f.truncate(16 << 20)
        sh("mkfs.ext4", "-q", self.image)
        sh("mount", "-o", "loop,errors=remount-ro", self.image, self.mount)

    def stop(self):
        sh("fsfreeze", "-f", self.mount)

    def go(self):
        sh("fsfreeze", "-u", self.mount)

    def end(self):
        sh("umount", self.mount)


class ReadOnly(Frozen):
    """An ext4 that has found an error."""

    def stop(self):
        device = subprocess.check_output(["findmnt", "-no", "SOURCE", self.mount], text=True).strip()
        with open("/sys/fs/ext4/%s/trigger_fs_error" % os.path.basename(device), "w") as f:
            f.write("1")

    def go(self):
        pass


class Hung:
    """A file system in user space that does not answer."""

    def __init__(self, dir):
        self.flag, self.mount = dir + "/hang", dir + "/mnt"
        os.mkdir(self.mount)
        os.mkdir(dir + "/back")
        self.server = subprocess.Popen(["/usr/bin/python3", here + "/slowfs.py", dir + "/back", self.mount, self.flag])
        while not os.path.ismount(self.mount):
            if self.server.poll() is not None:
                raise SystemExit("no FUSE")
            time.sleep(0.05)

    def stop(self):
        open(self.flag, "w").close()

    def go(self):
        os.remove(self.flag)

    def end(self):
        sh("umount", "-l", self.mount)
        self.server.wait()


class Memory:
    def __init__(self, dir):
        self.dir, self.mount = dir, dir + "/mnt"
        os.mkdir(self.mount)
        sh("mount", "-t", "tmpfs", "-o", "size=4m", "none", self.mount)

    def go(self):
        pass

    def end(self):
        sh("umount", "-l", self.mount)


class Full(Memory):
    """A file system that is full."""

    def stop(self):
        try:
            with open(self.mount + "/filler", "wb", buffering=0) as f:
                while f.write(b"x" * 4096):
                    pass
        except OSError:
            pass


class Removed(Memory):
    """A directory that is removed, with what is in it, and its file system."""

    def stop(self):
        shutil.rmtree(self.mount + "/out", ignore_errors=True)
        sh("umount", "-l", self.mount)

    def end(self):
        pass


def state(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def child_of(recorder):
    """The process of the worker below record, or 0. The main thread is a zombie for a moment if another one calls exec."""
    pid = recorder.pid
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % p) as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
                if parent == pid and os.readlink("/proc/%s/exe" % p) == worker:
                    return int(p)
            except OSError:
                pass
        if recorder.poll() is not None:
            return 0
        try:
            if os.readlink("/proc/%d/exe" % pid) == worker:
                return pid  # record has become the program
        except OSError:
            pass
        time.sleep(0.01)
    return 0


class Case:
    def __init__(self, number, kind, when, mode, how, to, engine):
        self.name = "%s %s, %s, %s %s%s" % (kind.__name__, when, mode, how, engine, to and ", signal to " + to)
        self.dir = "%s/%d" % (work, number)
        self.kind, self.when, self.mode, self.how, self.to, self.engine = kind, when, mode, how, to, engine

    def run(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.mkdir(self.dir)
        self.fs = self.kind(self.dir)
        try:
            return self.measure()
        finally:
            self.fs.end()
            shutil.rmtree(self.dir, ignore_errors=True)

    def measure(self):
        life = 60 if self.mode == "term" else LIFE
        program = [worker, self.mode, str(life), self.dir + "/log"]
        output = ["-q", "--every", "200ms", "-o", self.fs.mount + "/out"]
        recorder, begun, stopped = None, time.monotonic(), False
        with open(self.dir + "/said", "w") as said:
            if self.when == "start":
                self.fs.stop()
                stopped = True
            if self.how == "record":
                recorder = subprocess.Popen([heaplapse, "record", "--engine", self.engine] + output + ["--"] + program, stdout=said, stderr=said)
                pid = child_of(recorder)
                if pid == 0:
                    self.fs.go()
                    recorder.wait()
                    return False, "the program did not begin"
            else:
                child = subprocess.Popen(program, stdout=said, stderr=said)
                pid = child.pid
                time.sleep(0.3)
                recorder = subprocess.Popen([heaplapse, "attach", str(pid)] + output, stdout=said, stderr=said)
            came = time.monotonic() - begun  # the program runs
            if self.when == "middle":
                time.sleep(LIFE / 2)
                self.fs.stop()
            if self.when == "end":
                time.sleep(LIFE - 0.15)
                self.fs.stop()
            want = None
            if self.mode == "term":
                time.sleep(max(0, begun + came + LIFE - time.monotonic()))
                os.kill(recorder.pid if self.to == "record" else pid, signal.SIGTERM)
                want = time.monotonic()
            while state(pid) not in ("", "Z") and time.monotonic() < begun + 40:
                time.sleep(0.005)
            ended = time.monotonic()
            alive = state(pid) not in ("", "Z")
            if alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:  # it has ended meanwhile, and is late
                    alive = False
            self.fs.go()
            try:
                status = recorder.wait(60)
            except subprocess.TimeoutExpired:
                status = "none after 60 s"
                recorder.kill()
                recorder.wait()
            if self.how == "attach":
                status = child.wait()
        if alive:
            return False, "the program did not end"
        with open(self.dir + "/log") as f:
            lines = [list(map(float, line.split())) for line in f]
        if want is None:
            want = lines[0][0] + LIFE if self.mode != "exec" else lines[-1][0] + LIFE / 2
        late, longest = ended - want, max(line[2] for line in lines)
        first = lines[0][0] - begun  # until its main
        with open(self.dir + "/said") as f:
            why = [line.strip() for line in f if line.startswith("heaplapse")]
        limit = ALLOWED + busy()
        good = status == 42 and late <= limit and longest <= limit and first <= limit
        return good, "ran after %.1f s, ended %.1f s late, longest round %.1f s, status %s%s" % (
            first, late, longest, status, "; " + why[0] if why else "")


def cases():
    number = 0
    for kind, when, mode, how, engine in itertools.product(
            (Frozen, Hung, Full, ReadOnly, Removed), ("start", "middle", "end"), ("exit", "term", "exec", "fork"),
            ("record", "attach"), ("builtin", "tcmalloc", "jemalloc")):
        if kind is Removed and when == "start":
            continue  # then it is created
        if engine != "builtin" and (how == "attach" or when != "middle" or kind not in (Frozen, Hung)):
            continue
        for to in (("program", "record") if mode == "term" and how == "record" else ("",)):
            number += 1
            case = Case(number, kind, when, mode, how, to, engine)
            if pattern.search(case.name):
                yield case


def main():
    failed = False
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        chosen = list(cases())
        results = list(zip(chosen, pool.map(Case.run, chosen)))
    for case, (good, text) in results:
        for _ in range(2):  # something else may have kept the machine busy: alone, it must hold
            if not good:
                print("again    %s: %s" % (case.name, text), flush=True)
                good, text = case.run()
        failed |= not good
        print("%s    %s: %s" % ("holds" if good else "FALLS", case.name, text), flush=True)
    sys.exit(failed)


main()
