// SPDX-License-Identifier: MIT
// progress.h as C++, with the shared library: two threads that hand a subdomain over. Exit
// status 0, or the line of what went wrong; 77, which meson counts as skipped, without /dev/shm.
#include <progress.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

int main()
{
	const std::uint32_t owner[] = {0, 0, 1};
	progress_options options{};
	progress *p = nullptr;

	CHECK(progress_create(&options, &p) < 0);
	options.workers = 2;
	options.subdomains = 3;
	options.owner = owner;
	options.balancing = PROGRESS_BALANCE_JOINT;
	const int error = progress_create(&options, &p);
	if (error != 0) {
		std::printf("no segment here: error %d\n", error);
		return 77;
	}

	std::vector<std::thread> threads;
	std::atomic<int> wrong{0};
	for (std::uint32_t w = 0; w < 2; w++)
		threads.emplace_back([p, w, &wrong] {
			wrong += progress_register(p, w) != 0;
			for (std::uint64_t i = 1; i <= 100; i++) {
				const std::uint32_t *mine;
				const std::uint32_t n = progress_begin(p, w, &mine);
				for (std::uint32_t k = 0; k < n; k++)
					progress_update(p, w, mine[k], i, 0.5);
			}
			progress_balance(p, w);
			progress_leave(p, w);
		});
	for (auto &thread : threads)
		thread.join();
	CHECK(wrong == 0);
	for (std::uint32_t s = 0; s < 3; s++) {
		CHECK(progress_updates(p, s) == 100);
		CHECK(progress_iteration(p, s) == 100);
		CHECK(progress_holder(p, s) == owner[s]);
	}
	CHECK(progress_holder(p, 3) == PROGRESS_NOBODY);
	CHECK(progress_spread(p) == 0);
	CHECK(progress_remove(p, 1) == 0);
	CHECK(progress_holder(p, 1) == PROGRESS_NOBODY);
	CHECK(progress_insert(p, 1, PROGRESS_NOBODY, 90) < 0); // nobody is registered
	CHECK(progress_insert(p, 1, 1, 90) == 0);
	CHECK(progress_holder(p, 1) == 1);
	CHECK(progress_spread(p) == 10);

	progress_rank_options how{};
	progress_rank own{};
	progress_rank_move move{};
	CHECK(progress_rank_setup(p, &how) == 0);
	progress_rank_read(p, &own);
	CHECK(own.subdomains == 3 && own.rank == 0 && own.reserved == 0);
	progress_rank ends[] = {own, own};
	progress_rank_reduce(ends, ends);
	CHECK(ends[1].subdomains == 3);
	CHECK(progress_rank_balance(p, 0, ends, 2, &move) == 0);
	progress_close(p);
	return 0;
}
