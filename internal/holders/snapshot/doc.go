// Package snapshot freezes the memory of a process that runs: it makes the process fork, and reads the
// child, which stays stopped. The threads of the process are stopped only for the fork.
//
// All threads are stopped by ptrace, so that no pointer is on its way from one place to another, and
// their registers are read. (A thread that waits in a system call which that would end early is left alone: see
// [Thread.Asleep].) One of them makes the system call clone (see package tracer for how it
// survives the death of heaplapse). The child is traced from its birth on, and dies with heaplapse
// (PTRACE_O_EXITKILL, which the threads of the process never have). If heaplapse dies before it has
// set that option, the child calls _exit, whose address is on its stack.
//
// # What the process sees
//
// The child must not change how the process behaves:
//
//   - It sends no signal when it ends, and wait(2) does not find it, unless it is called with __WALL or
//     __WCLONE: its exit signal is [exitSignal], which is no signal. No handler runs, and a loop of
//     waitpid(-1) sees no stranger.
//   - It has no open files. With a copy of the table it would hold every file open: the other end of a
//     pipe or a socket would not see that it was closed, locks of flock(2) would stay, and epoll(7) would
//     report files that the process has closed. So it shares the table at first (CLONE_FILES), and
//     leaves it by close_range(2). Before Linux 5.9 it goes on sharing, and is ended with the process.
//   - It does not share the working directory (CLONE_FS), because the kernel then ignores set-user-ID
//     bits when the process executes a program.
//   - All signals are blocked in it: those that are sent to its process group do not reach it.
//   - It is the first that the kernel ends if memory runs short (oom_score_adj), and it is killed
//     before that happens: see [Snapshot.Err].
//
// A page that the process writes to while the child is there is copied once. Reading the child must not
// copy more: see [target.Anonymous].
//
// When it is killed, it stays a zombie until a thread of the process waits for it, so a thread is
// borrowed a second time. If heaplapse was killed, a [Guard] does that, and without one the next snapshot of the
// process: the zombie is known by its exit signal.
//
// # When there is no snapshot
//
// Take returns a [Refusal] and leaves the process alone if the kernel would not permit the fork, or if
// it would harm: a seccomp filter does not permit the system calls; the process is traced or stopped; it
// has shadow stacks; its next child would be the first process of a new PID namespace; a thread
// does not stop, because it waits for a child of vfork(2), which shares its memory, or for a device;
// its control group has no room for processes or memory. Memory that the process has excluded from
// forks (MADV_DONTFORK) is missing: see [Snapshot.Missing].
package snapshot
