// A thread allocates while it has the lock of the dynamic linker, and another one after it has loaded
// a library. Usage: loading LIBRARY
#include <atomic>
#include <cstdio>
#include <new>
#include <thread>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

static std::atomic<int> stage;

static void reach(int n) {
	stage = n;
	while (stage == n) usleep(100);
}

static void allocate() {
	for (int i = 0; i < 200; i++) {
		void *p = ::operator new(200000);
		*static_cast<volatile char *>(p) = 1;
		::operator delete(p);
	}
}

static int locked(dl_phdr_info *, size_t, void *) {
	reach(2);
	usleep(200000); // the other thread needs the lock by now
	allocate();
	return 1;
}

int main(int, char **argv) {
	alarm(30);
	std::thread holder([] {
		while (stage != 1) usleep(100);
		dl_iterate_phdr(locked, nullptr);
	});
	allocate(); // the engine knows what is loaded
	if (!dlopen(argv[1], RTLD_NOW)) return 1;
	stage = 1;
	while (stage != 2) usleep(100);
	stage = 3;
	allocate();
	holder.join();
	puts("done");
}
