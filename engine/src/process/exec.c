// The ways in which a process image ends: exec, exit, _exit, and the return of main. The engine
// takes a snapshot before, or lets the recorder look at the memory while exit handlers have not
// freed it.
#include <stdarg.h>

#include "base/next.h"
#include "heap/hook.h"
#include "heap/record.h"
#include "output/trigger.h"

typedef char *const *strings;

// is_executable keeps programs that try one directory after another from taking a snapshot for
// each.
static bool is_executable(const char *path) {
    enum { X_OK = 1 };
    return path && hl_is_recording() && hl_syscall3(HL_SYS_faccessat, HL_AT_FDCWD, path, X_OK) == 0;
}

// NEXT defines next as the C library's function.
#define NEXT(name, parameters) int(*next) parameters = (int(*) parameters)hl_next(HL_NEXT_##name)

HL_EXPORT int execve(const char *path, strings argv, strings envp) {
    NEXT(execve, (const char *, strings, strings));
    if (is_executable(path)) hl_trigger_last(HL_EXEC);
    return next(path, argv, envp);
}

HL_EXPORT int execv(const char *path, strings argv) {
    NEXT(execv, (const char *, strings));
    if (is_executable(path)) hl_trigger_last(HL_EXEC);
    return next(path, argv);
}

HL_EXPORT int execvp(const char *file, strings argv) {
    NEXT(execvp, (const char *, strings));
    hl_trigger_last(HL_EXEC);
    return next(file, argv);
}

HL_EXPORT int execvpe(const char *file, strings argv, strings envp) {
    NEXT(execvpe, (const char *, strings, strings));
    hl_trigger_last(HL_EXEC);
    return next(file, argv, envp);
}

HL_EXPORT int fexecve(int fd, strings argv, strings envp) {
    NEXT(fexecve, (int, strings, strings));
    hl_trigger_last(HL_EXEC);
    return next(fd, argv, envp);
}

// execveat may be missing in the C library: it then fails as an old kernel does.
HL_EXPORT int execveat(int fd, const char *path, strings argv, strings envp, int flags) {
    NEXT(execveat, (int, const char *, strings, strings, int));
    if (!next) return hl_not_implemented();
    hl_trigger_last(HL_EXEC);
    return next(fd, path, argv, envp, flags);
}

static size_t count(va_list arguments) {
    size_t n = 1;
    while (va_arg(arguments, char *)) n++;
    return n;
}

static void collect(char **argv, const char *first, va_list arguments) {
    *argv = (char *)first;
    while (*argv++) *argv = va_arg(arguments, char *);
}

// LIST defines argv as the arguments of a variadic function, up to and including NULL.
#define LIST                                                                                       \
    va_list arguments, again;                                                                      \
    va_start(arguments, first);                                                                    \
    va_copy(again, arguments);                                                                     \
    char *argv[(first ? count(again) : 0) + 1];                                                    \
    va_end(again);                                                                                 \
    collect(argv, first, arguments)

HL_EXPORT int execl(const char *path, const char *first, ...) {
    LIST;
    va_end(arguments);
    return execv(path, argv);
}

HL_EXPORT int execlp(const char *file, const char *first, ...) {
    LIST;
    va_end(arguments);
    return execvp(file, argv);
}

HL_EXPORT int execle(const char *path, const char *first, ...) {
    LIST;
    strings envp = va_arg(arguments, strings);
    va_end(arguments);
    return execve(path, argv, envp);
}

_Noreturn static void leave(int status) {
    hl_trigger_leave();
    hl_trigger_last(HL_EXIT);
    for (;;) hl_syscall1(HL_SYS_exit_group, status);
}

HL_EXPORT _Noreturn void _exit(int status) { leave(status); }
HL_EXPORT _Noreturn void _Exit(int status) { leave(status); }

HL_EXPORT _Noreturn void exit(int status) {
    hl_trigger_leave();
    for (;;) ((void (*)(int))hl_next(HL_NEXT_exit))(status);
}

typedef int program(int argc, char **argv, char **envp);
static program *program_main;

static int run_main(int argc, char **argv, char **envp) {
    int status = program_main(argc, argv, envp);
    hl_trigger_leave();
    return status;
}

// The start of a program calls __libc_start_main, which calls exit with what main returns, but not
// the exit of this file.
HL_EXPORT int __libc_start_main(program *main, int argc, char **argv, void (*init)(void),
                                void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    NEXT(__libc_start_main,
         (program *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *));
    program_main = main;
    return next(hl_is_recording() ? run_main : main, argc, argv, init, fini, loader_fini,
                stack_end);
}
