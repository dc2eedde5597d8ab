// Exceptions that pass through allocations. Usage: exceptions WHAT. What is
// printed, and how the program ends, is the same without the engine.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static volatile size_t huge = PTRDIFF_MAX / 2;
static int destroyed, handled;

struct guard {
	~guard() { destroyed++; }
};

static __attribute__((noinline)) void fail() {
	guard g;
	char *volatile p = new char[huge];
	delete[] p;
}

struct aligned {
	alignas(64) char c[64];
};

struct gives_up {};
static void give_up() {
	if (++handled % 3 == 0) throw gives_up();
}

// thrown: operators new throw bad_alloc, or what the new_handler throws.
static void thrown() {
	int caught = 0, own = 0, null = 0;
	for (int i = 0; i < 1000; i++) {
		try {
			fail();
		} catch (const std::bad_alloc &) {
			caught++;
		}
		char *volatile p = new (std::nothrow) char[huge];
		null += p == nullptr;
		try {
			aligned *volatile a = static_cast<aligned *>(operator new(huge, std::align_val_t(64)));
			operator delete(a, std::align_val_t(64));
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	std::set_new_handler(give_up);
	for (int i = 0; i < 100; i++) {
		try {
			fail();
		} catch (const gives_up &) {
			own++;
		}
	}
	std::printf("%d caught, %d null, %d own, %d handled, %d destroyed\n", caught, null, own, handled, destroyed);
}

static __attribute__((noinline)) void no_except() noexcept { fail(); }

int main(int, char **argv) {
	if (!std::strcmp(argv[1], "thrown")) thrown();
	if (!std::strcmp(argv[1], "noexcept")) no_except();
}
