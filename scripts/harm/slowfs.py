"""A file system in user space that passes everything on to a directory, and does not answer while there is a
file. Usage: slowfs.py DIRECTORY MOUNTPOINT FILE"""
import os
import sys
import time

try:
    import fusepy as fuse
except ImportError:
    import fuse


class Slow(fuse.Operations):
    def __init__(self, root, stop):
        self.root, self.stop = root, stop

    def __call__(self, op, path, *args):
        while os.path.exists(self.stop):
            time.sleep(0.01)
        return getattr(self, op)(self.root + path, *args)

    def getattr(self, path, fh=None):
        s = os.lstat(path)
        return {k: getattr(s, k) for k in (
            "st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")}

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(path)

    def create(self, path, mode, fi=None):
        return os.open(path, os.O_RDWR | os.O_CREAT, mode)

    def rename(self, old, new):
        return os.rename(old, self.root + new)

    def link(self, target, source):
        return os.link(self.root + source, target)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(path, length)

    def utimens(self, path, times=None):
        os.utime(path, times)

    def flush(self, path, fh):
        return 0

    def fsync(self, path, datasync, fh):
        return os.fsync(fh)

    def release(self, path, fh):
        return os.close(fh)

    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    unlink = staticmethod(os.unlink)
    chmod = staticmethod(os.chmod)
    chown = staticmethod(os.chown)
    open = staticmethod(os.open)


fuse.FUSE(Slow(sys.argv[1], sys.argv[3]), sys.argv[2], foreground=True)
