#ifndef HL_ATTACH_HELPER_H
#define HL_ATTACH_HELPER_H

// hl_attach_forked is called in a forked child, in which the helper does not exist.
void hl_attach_forked(void);

#endif
