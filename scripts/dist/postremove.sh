#!/bin/sh
# Removes what `heaplapse record` keeps as root. The argument is that of dpkg (remove, purge), of rpm
# (0: the last version goes) or of apk (the version); an upgrade keeps it.
case ${1:-} in
remove | purge | 0 | *.*.*) rm -rf /var/cache/heaplapse ;;
esac
