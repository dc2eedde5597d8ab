// Which pages of the process are writable.
#ifndef HL_BASE_PAGES_H
#define HL_BASE_PAGES_H

#include "base/platform.h"

// hl_pages_forget makes the next question read the mappings again.
void hl_pages_forget(void);

// hl_page_is_read_only reports whether the page of an address can be read but not written. It
// returns false if it does not know. The mappings are read by the first question after
// hl_pages_forget. Only the helper asks.
bool hl_page_is_read_only(uintptr_t address);

#endif
