// What the engine recognizes Valgrind by: coregrind/vg_preloaded.c.
void _vgnU_freeres(void);
void _vgnU_freeres(void) {}
