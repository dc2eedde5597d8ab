// A server that leaks until a signal ends it: remember() keeps every request. With "fork" three
// children do the work.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

static std::vector<char *> requests;

__attribute__((noinline)) void remember(size_t size) {
	char *request = new char[size];
	memset(request, 1, size);
	requests.push_back(request);
}

__attribute__((noinline)) void answer() {
	for (int i = 0; i < 40; i++) {
		std::string body(20000, 'x');
		if (body.size() == 1) puts("never");
	}
}

static void serve() {
	alarm(300); // in case no signal comes
	for (;;) {
		remember(40000);
		answer();
		usleep(3000);
	}
}

int main(int argc, char **argv) {
	puts("ready");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		for (int i = 0; i < 3; i++)
			if (fork() == 0) serve();
		alarm(300);
		for (;;) pause();
	}
	serve();
}
