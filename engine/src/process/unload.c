// dlclose: the engine forgets what it knows of code that is not there any more.
#include "base/entry.h"
#include "base/next.h"
#include "heap/hook.h"
#include "heap/runtime.h"

HL_EXPORT int dlclose(void *handle) {
    int (*next)(void *) = (int (*)(void *))hl_next(HL_NEXT_dlclose);
    if (!next) return hl_not_implemented();
    if (!hl_is_recording()) return next(handle);
    hl_runtimes_unloading();
    int result = next(handle);
    hl_unwind_forget();
    hl_runtimes_unloaded();
    return result;
}

HL_HOOK(dlclose);
