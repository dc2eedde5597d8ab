// C++ operators new and delete. Each site_… leaves a known number of objects.
#include <cstdio>
#include <cstdlib>
#include <new>

#define SITE extern "C" __attribute__((noinline)) void

static void *volatile kept[1000];

struct alignas(64) Aligned {
	char bytes[64];
};

SITE site_array() { // 1000 × 100, half of them deleted
	for (int i = 0; i < 1000; i++) kept[i] = new char[100];
	for (int i = 0; i < 500; i++) delete[] static_cast<char *>(kept[i]);
}
SITE site_object() { // 100 × 4, half of them deleted
	for (int i = 0; i < 100; i++) kept[i] = new int;
	for (int i = 0; i < 50; i++) delete static_cast<int *>(kept[i]);
}
SITE site_aligned() { // 10 × 64, one deleted
	for (int i = 0; i < 10; i++) kept[i] = new Aligned;
	delete static_cast<Aligned *>(kept[0]);
}
SITE site_nothrow() { // 10 × 8
	for (int i = 0; i < 10; i++) kept[i] = new (std::nothrow) double;
}
SITE site_malloc() { // 10 × 10, one freed
	for (int i = 0; i < 10; i++) kept[i] = std::malloc(10);
	std::free(kept[0]);
}

int main() {
	site_array();
	site_object();
	site_aligned();
	site_nothrow();
	site_malloc();
	try {
		kept[0] = new char[static_cast<size_t>(kept[1] != nullptr) << 62];
	} catch (const std::bad_alloc &) {
		std::puts("bad_alloc");
	}
}
