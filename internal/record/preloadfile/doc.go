// Package preloadfile stores the shared objects that record preloads, and checks who can replace a
// file that is preloaded.
//
// The program that is recorded, and every program that it runs, executes these objects, whoever
// runs it. So they must not lie where another user can write: not in the directory of the
// snapshots, which may belong to someone else, and not in /tmp itself. [Write] uses a directory of
// its own below the first of these that is suitable:
//
//   - for root, /var/cache and /run, where programs that change their user can still read them;
//   - the user's cache directory;
//   - XDG_RUNTIME_DIR;
//   - the directory of temporary files. It is the last choice, because a service that removes old
//     files may also remove these and make their name available to others.
//
// A directory is suitable if only root and the user of this process can change it and the
// directories above it ([Check]), if its file system permits execution, and if LD_PRELOAD supports
// its name.
//
// An anonymous file (memfd_create(2)) would need no directory, but its path /proc/PID/fd/N is valid
// only while the process PID lives, and only for processes of the same user in the same PID
// namespace. The programs that a recorded program runs later could not load it. They could not
// inherit its descriptor either: programs close the descriptors that they do not know.
package preloadfile
