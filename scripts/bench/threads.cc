// Allocates in four threads: strings, vectors and maps, as a service in C++ does. Each thread counts
// its rounds in a file of 64-bit numbers.
// Usage: threads COUNTERS
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

constexpr int threads = 4;

static void work(std::atomic<unsigned long> &rounds, unsigned x) {
	std::map<unsigned, std::vector<std::string>> table;
	for (;; rounds++) {
		x = x * 1664525u + 1013904223u;
		auto &row = table[(x >> 8) % 512];
		if (row.size() > 20) row.clear();
		row.push_back(std::string((x >> 20) % 600, 'x'));
		if (row.back().size() != (x >> 20) % 600) abort();
	}
}

int main(int argc, char **argv) {
	if (argc != 2) return 2;
	size_t size = threads * sizeof(std::atomic<unsigned long>);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) return 1;
	void *shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) return 1;
	auto *rounds = static_cast<std::atomic<unsigned long> *>(shared);
	std::vector<std::thread> all;
	for (int i = 1; i < threads; i++) all.emplace_back(work, std::ref(rounds[i]), i);
	puts("ready");
	fflush(stdout);
	work(rounds[0], 0);
}
