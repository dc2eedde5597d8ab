// Compares the modules that hold the engine's data with simple models. The test builds it with
// AddressSanitizer and UndefinedBehaviorSanitizer.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "heap/live.h"
#include "heap/regions.h"
#include "heap/sample.h"
#include "heap/sites.h"

#define CHECK(condition) ((condition) ? (void)0 : (printf("line %d: %s\n", __LINE__, #condition), exit(1)))

struct hl_lock hl_heap_lock;
void hl_problem(const char *kind, const char *detail) { printf("%s: %s\n", kind, detail); }
uintptr_t hl_name(const char *function, size_t length, const char *file, size_t file_length, uint32_t line, const char *language) {
	(void)function, (void)length, (void)file, (void)file_length, (void)line, (void)language;
	return HL_NAMED;
}

static uint64_t state = 88172645463325252u;
static uint64_t any(uint64_t below) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

// --- live samples ---

static bool add_live(void *p, uint64_t size) {
	struct hl_live stale;
	bool was_stale;
	CHECK(hl_live_add(p, (struct hl_live){.size = size, .site = 1}, &stale, &was_stale));
	return was_stale;
}

static void check_live(void) {
	enum { N = 20000 };
	static uint64_t sizes[N]; // 0: not in the table
	static uint32_t numbers[N]; // of the last sample at an address
	struct hl_live l;
	size_t count = 0;
	uint32_t number = HL_ANY;
	for (int i = 0; i < 400000; i++) {
		uint64_t k = any(N);
		void *p = (void *)(0x7f0000000000 + k * 48 + (k % 7 << 33));
		CHECK(hl_live_has(p, &number) == (sizes[k] != 0));
		CHECK(!sizes[k] || hl_live_maybe(p));
		if (any(i < 200000 ? 3 : 6) < 2) { // grows, then shrinks
			uint32_t old = numbers[k];
			CHECK(add_live(p, k + 1 + (uint64_t)i) == (sizes[k] != 0));
			CHECK(hl_live_has(p, &numbers[k]) && numbers[k] != HL_ANY && numbers[k] != old);
			CHECK(old == HL_ANY || !hl_live_remove(p, old, &l)); // the number of an older sample
			count += sizes[k] == 0;
			sizes[k] = k + 1 + (uint64_t)i;
		} else {
			CHECK(hl_live_remove(p, i % 2 ? HL_ANY : numbers[k], &l) == (sizes[k] != 0));
			CHECK(!sizes[k] || l.size == sizes[k]);
			count -= sizes[k] != 0;
			sizes[k] = 0;
		}
		CHECK(hl_live_count() == count);
	}
	for (uint64_t k = 0; k < N; k++) hl_live_remove((void *)(0x7f0000000000 + k * 48 + (k % 7 << 33)), HL_ANY, &l);
	for (size_t i = 0; i < HL_LENGTH(hl_filter); i++) CHECK(hl_filter[i] == 0);
}

// A counter of the filter that has reached its maximum must not say "no" afterwards.
static void check_saturation(void) {
	struct hl_live l;
	uint32_t number;
	for (int round = 0; round < 2; round++)
		for (uint64_t upper = 1; upper <= 40; upper++)
			for (uint64_t i = 0; i < 16; i++) {
				void *p = (void *)(upper << 34 | 1024 | i * 16); // all have one counter
				CHECK(hl_filter_index((uintptr_t)p) == hl_filter_index(1024));
				if (round == 0) add_live(p, 1);
				CHECK(hl_live_maybe(p) && hl_live_has(p, &number));
				if (round == 1) CHECK(hl_live_remove(p, number, &l) && !hl_live_has(p, &number));
			}
	CHECK(hl_live_maybe((void *)1024) && hl_live_count() == 0);
}

// Each thread asks for its own addresses without the lock, while the others change the table.
static void *use_live(void *argument) {
	struct hl_live l;
	uint32_t number;
	for (int i = 0; i < 20000; i++) {
		char *p = (char *)argument + (i % 700) * 16;
		hl_lock(&hl_heap_lock);
		add_live(p, 5);
		hl_unlock(&hl_heap_lock);
		CHECK(hl_live_has(p, &number));
		if (i % 3 == 0) continue;
		hl_lock(&hl_heap_lock);
		CHECK(hl_live_remove(p, number, &l));
		hl_unlock(&hl_heap_lock);
	}
	return NULL;
}

static void check_threads(void) {
	pthread_t t[4];
	for (size_t i = 0; i < 4; i++) pthread_create(&t[i], NULL, use_live, (void *)(0x500000000000 + (i << 20)));
	for (size_t i = 0; i < 4; i++) pthread_join(t[i], NULL);
}

// --- sites ---

static void check_sites(void) {
	static struct hl_stack s;
	bool full;
	CHECK(hl_sites_init() && hl_sites_count() == 1);
	enum { N = 5000 };
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < N; i++) {
			s.n = 1 + i % HL_MAX_FRAMES;
			for (uint32_t k = 0; k < s.n; k++) s.pc[k] = 0x400000 + k * (i / HL_MAX_FRAMES + 1);
			s.pc[s.n - 1] = i;
			uint32_t site = hl_site_of(&s, &full);
			CHECK(site == i + 1 && !full);
			CHECK(hl_site(site)->n == s.n && memcmp(hl_site(site)->frames, s.pc, s.n * sizeof *s.pc) == 0);
		}
	hl_sites_limit = N + 1;
	s.pc[0] = 1;
	CHECK(hl_site_of(&s, &full) == HL_SITE_OTHER && full);
	CHECK(hl_site(HL_SITE_OTHER)->n == 1 && hl_site(HL_SITE_OTHER)->frames[0] == HL_NAMED);
	hl_sums_allocated(3, 10, 100);
	hl_sums_freed(3, 4, 40);
	struct hl_sums *sums = &hl_site(3)->sums;
	CHECK(sums->inuse_objects == 6 && sums->inuse_bytes == 60 && sums->alloc_objects == 10 && sums->alloc_bytes == 100);
	hl_sums_freed(3, 6, 60);
}

// --- regions ---

static void check_regions(void) {
	enum { PAGES = 512, SITES = 8, PAGE = 4096 };
	static uint32_t owner[PAGES]; // 0: not recorded
	CHECK(hl_regions_init());
	for (int i = 0; i < 50000; i++) {
		size_t from = any(PAGES), n = 1 + any(PAGES - from);
		if (n > 64 && any(8)) n = 1 + n % 64;
		uint32_t site = 1 + (uint32_t)any(SITES);
		size_t removed = 0;
		for (size_t k = from; k < from + n; k++) removed += owner[k] ? PAGE : 0;
		CHECK(hl_regions_remove(0x10000 + from * PAGE, n * PAGE) == removed);
		bool maps = any(2);
		if (maps) CHECK(hl_regions_add(0x10000 + from * PAGE, n * PAGE, site));
		for (size_t k = from; k < from + n; k++) owner[k] = maps ? site : 0;
		int64_t bytes[SITES + 1] = {0}, all = 0;
		for (size_t k = 0; k < PAGES; k++) bytes[owner[k]] += PAGE;
		for (uint32_t k = 1; k <= SITES; k++) {
			struct hl_sums *s = &hl_site(k)->sums;
			CHECK(s->inuse_bytes == bytes[k] && (s->inuse_objects == 0) == (bytes[k] == 0));
			all += s->inuse_objects;
		}
		CHECK(all == (int64_t)hl_regions_count() * HL_WEIGHT_ONE);
	}
}

// Regions of the size of an arena are forgotten if the object has mapped them.
static void check_arenas(void) {
	static struct hl_stack s = {.n = 2, .pc = {HL_NAMED, 0x1234}};
	bool full;
	hl_sites_limit = 1 << 20;
	uint32_t site = hl_site_of(&s, &full);
	hl_regions_remove(0, 1 << 30);
	CHECK(hl_regions_add(0x100000, 1 << 20, site) && hl_regions_add(0x300000, 256 << 10, site));
	CHECK(hl_regions_add(0x400000, 128 << 10, site));
	hl_regions_forget_arenas(0x2000, 0x3000);
	CHECK(hl_regions_count() == 3);
	hl_regions_forget_arenas(0x1000, 0x2000);
	CHECK(hl_regions_count() == 1 && hl_site(site)->sums.inuse_bytes == 128 << 10);
}

// --- sampling ---

static void check_weights(void) {
	static const uint64_t periods[] = {2, 100, 4096, 131072, 1 << 30};
	for (size_t k = 0; k < HL_LENGTH(periods); k++)
		for (double size = 1; size < 1e13; size = size * 1.3 + 1) {
			uint64_t n = (uint64_t)size;
			double want = -1 / expm1(-(double)n / (double)periods[k]);
			double got = (double)hl_weight(n, periods[k]) / HL_WEIGHT_ONE;
			CHECK(fabs(got - want) <= want * 1e-9 + 1.0 / HL_WEIGHT_ONE);
			double bytes = (double)hl_weighted_bytes(n, hl_weight(n, periods[k]));
			CHECK(fabs(bytes - want * (double)n) <= want * (double)n * 2e-5 + 1);
		}
	CHECK(hl_weight(1, 1) == HL_WEIGHT_ONE && hl_weighted_bytes(123456789012, HL_WEIGHT_ONE) == 123456789012);
}

// The draws are exponentially distributed: compare the mean and some quantiles of a fixed sequence.
static void check_draws(void) {
	enum { N = 1000000 };
	const double period = 131072;
	uint64_t random = 42;
	double sum = 0;
	int above[5] = {0};
	for (int i = 0; i < N; i++) {
		int64_t left = hl_draw(&random, 131072);
		CHECK(left >= 0);
		sum += (double)left;
		for (int k = 0; k < 5; k++) above[k] += (double)left > period * k;
	}
	CHECK(fabs(sum / N / period - 1) < 0.005);
	for (int k = 1; k < 5; k++) CHECK(fabs(above[k] / (N * exp(-k)) - 1) < 0.05);
	CHECK(hl_draw(&random, 1) == 0);
}

// --- text ---

static void check_json(const char *s, size_t n, const char *want) {
	char buffer[64];
	struct hl_text t = hl_text(buffer, sizeof buffer);
	hl_put_json(&t, s, n);
	CHECK(hl_put_end(&t) && strcmp(buffer, want) == 0);
}

static void check_text(void) {
	check_json("a\"b\\c\n\x7f", 7, "a\\\"b\\\\c\\u000a\\u007f");
	check_json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	check_json("\xc3", 1, "\\ufffd");
	check_json("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd"); // a surrogate
	check_json("\xc0\xaf", 2, "\\ufffd\\ufffd");            // overlong
	check_json("\xf4\x90\x80\x80", 4, "\\ufffd\\ufffd\\ufffd\\ufffd");
	char small[6];
	struct hl_text t = hl_text(small, sizeof small);
	hl_format(&t, "%u-%x", UINT64_C(123), UINT64_C(0xabcdef));
	CHECK(!hl_put_end(&t) && strcmp(small, "123-a") == 0);
	const char *s = "18446744073709551615x", *start = s;
	uint64_t v;
	CHECK(hl_parse_number(&s, &v) && v == UINT64_MAX && s == start + 20);
	s = "18446744073709551616";
	CHECK(!hl_parse_number(&s, &v));
	s = "x";
	CHECK(!hl_parse_number(&s, &v));
}

int main(void) {
	check_live();
	check_saturation();
	check_threads();
	check_sites();
	check_regions();
	check_arenas();
	check_weights();
	check_draws();
	check_text();
	puts("ok");
	return 0;
}
