// A library that churn.c loads and unloads.
#include <stdlib.h>
#include <string.h>
char *plugin_copy(const char *s) {
    char *p = malloc(strlen(s) + 1);
    return strcpy(p, s);
}
