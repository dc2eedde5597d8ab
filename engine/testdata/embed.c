// Loads libpython three times and unloads it again, each time with a leak. At last it ends without
// finalizing. Usage: embed LIBPYTHON PYTHONHOME
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *need(void *p) {
    if (p == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return p;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    setenv("PYTHONHOME", argv[2], 1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) free(malloc(100000)); // the engine looks for an interpreter
        void *library = need(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
        void (*initialize)(int) = (void (*)(int))need(dlsym(library, "Py_InitializeEx"));
        int (*run)(const char *) = (int (*)(const char *))need(dlsym(library, "PyRun_SimpleString"));
        int (*finalize)(void) = (int (*)(void))need(dlsym(library, "Py_FinalizeEx"));
        initialize(0);
        for (int i = 0; i < 1000; i++) free(malloc(100000));
        if (run("kept = [None] * 1000\n"
                "def leak():\n"
                "    for i in range(1000):\n"
                "        kept[i] = bytes(1000)\n"
                "leak()\n") != 0)
            return 1;
        if (round == 2) break;
        if (finalize() != 0) return 1;
        dlclose(library);
    }
    return 0;
}
