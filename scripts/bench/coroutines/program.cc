// Times malloc(130000) and free on the thread's own stack and on that of a coroutine, which is mapped below it: each
// second pair is a sample. Compiled with one of -DUCONTEXT, -DBOOST_CONTEXT, -DBOOST_COROUTINE, -DBOOST_FIBER, -DPTH.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#if defined UCONTEXT
#include <sys/mman.h>
#include <ucontext.h>
#elif defined BOOST_CONTEXT
#include <boost/context/fiber.hpp>
#elif defined BOOST_COROUTINE
#include <boost/coroutine2/all.hpp>
#elif defined BOOST_FIBER
#include <boost/fiber/all.hpp>
#elif defined PTH
#include <pth.h>
#endif

static volatile bool keep = false;

static void measure(const char *where) {
	constexpr int rounds = 20000;
	void *volatile block;
	auto begin = std::chrono::steady_clock::now();
	for (int i = 0; i < rounds; i++) {
		block = malloc(130000);
		free(block);
	}
	std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
	printf("%s %.2f\n", where, took.count() / rounds);
}

#if defined UCONTEXT
static ucontext_t back, other;
static void body() { measure("coroutine"); }
#elif defined PTH
static void *body(void *) {
	measure("coroutine");
	return nullptr;
}
#endif

static void run() {
	measure("thread");
#if defined UCONTEXT
	constexpr size_t size = 1 << 20;
	void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = size;
	other.uc_link = &back;
	makecontext(&other, body, 0);
	swapcontext(&back, &other);
#elif defined BOOST_CONTEXT
	boost::context::fiber f([](boost::context::fiber &&caller) {
		measure("coroutine");
		return std::move(caller);
	});
	f = std::move(f).resume();
#elif defined BOOST_COROUTINE
	boost::coroutines2::coroutine<void>::pull_type c([](auto &yield) {
		measure("coroutine");
		yield();
	});
#elif defined BOOST_FIBER
	boost::fibers::fiber([] { measure("coroutine"); }).join();
#elif defined PTH
	pth_init();
	pth_join(pth_spawn(PTH_ATTR_DEFAULT, body, nullptr), nullptr);
#endif
}

int main() {
#if defined PTH
	run(); // its scheduler belongs to the main thread
#else
	std::thread(run).join();
#endif
}
