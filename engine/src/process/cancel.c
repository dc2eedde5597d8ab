// Cancellation of a thread at any instruction, which runs its cleanup functions and destructors.
#include "base/next.h"
#include "base/quiet.h"

HL_EXPORT int pthread_setcanceltype(int type, int *old) {
    enum { PTHREAD_CANCEL_ASYNCHRONOUS = 1 };
    int (*next)(int, int *) = (int (*)(int, int *))hl_next(HL_NEXT_pthread_setcanceltype);
    if (!next) return HL_ENOSYS;
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS) hl_quiet_stop();
    return next(type, old);
}
