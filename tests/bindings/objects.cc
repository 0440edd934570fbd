// SPDX-License-Identifier: BSD-3-Clause
// What bindings/cxx/teamster.hpp has, used on all nodes. Prints "right", or what is not.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <shared_mutex>
#include <teamster.hpp>
#include <vector>

namespace
{

constexpr unsigned N_THREADS = 6;
constexpr unsigned N_TURNS = 40;

using numbers = std::vector<unsigned, teamster::allocator<unsigned>>;

struct job {
    teamster::mutex mutex;
    teamster::shared_mutex shared;
    teamster::condition_variable changed;
    teamster::semaphore rooms;
    teamster::barrier meeting;
    teamster::atomic_int64 counter{5};
    numbers all;
    unsigned turn = 0;
    unsigned guarded = 0;
    std::uint64_t nodes_seen = 0;
};

void require(bool condition, const char *what)
{
    if (!condition) {
        std::fprintf(stderr, "wrong: %s\n", what);
        std::exit(1);
    }
}

// In turn, each adds numbers to a vector that all have.
void take_turns(job &all, unsigned me)
{
    for (unsigned i = 0; i < N_TURNS; i++) {
        std::unique_lock lock(all.mutex);

        all.changed.wait(lock, [&] { return all.turn % N_THREADS == me; });
        all.all.push_back(all.turn++);
        all.changed.notify_all();
    }
}

void share(job &all)
{
    for (unsigned i = 0; i < N_TURNS; i++) {
        all.rooms.acquire();
        {
            const std::lock_guard lock(all.shared);
            all.guarded++;
        }
        {
            const std::shared_lock lock(all.shared);
            require(all.guarded > 0, "shared_mutex");
        }
        all.counter.fetch_add(2);
        all.rooms.release();
    }
}

void work(job &all, unsigned me)
{
    take_turns(all, me);
    share(all);
    {
        const std::lock_guard lock(all.mutex);
        all.nodes_seen |= std::uint64_t(1) << teamster::node_self();
    }
    require(all.meeting.reduce(TM_SUM, std::int64_t(me)) ==
                N_THREADS * (N_THREADS - 1) / 2,
            "reduce of integers");
    require(all.meeting.reduce(TM_MAX, me * 0.5) == (N_THREADS - 1) * 0.5,
            "reduce of doubles");
    const std::int64_t tile = teamster::tune("tile", {8, 16});

    require(tile == 8 || tile == 16, "tune");
    all.meeting.iteration_end();
}

void run(job &all)
{
    teamster::thread first([p = &all] { work(*p, 0); });
    teamster::thread moved(std::move(first));
    std::vector<teamster::thread> team;

    require(!first.joinable() && moved.joinable(), "a thread that has moved");
    for (unsigned me = 1; me < N_THREADS; me++) {
        team.emplace_back([me, p = &all] { work(*p, me); });
    }
    team.push_back(std::move(moved));
    team.back().join();
    require(!team.back().joinable(), "a thread that was joined");
}

void look_at(const job &all)
{
    std::int64_t expected = 0;
    teamster::atomic_int64 *word =
        const_cast<teamster::atomic_int64 *>(&all.counter);

    require(all.all.size() == N_THREADS * N_TURNS, "the size of the vector");
    for (unsigned i = 0; i < all.all.size(); i++) {
        require(all.all[i] == i, "the vector");
    }
    require(all.guarded == N_THREADS * N_TURNS, "what the lock guards");
    require(word->load() == 5 + 2 * N_THREADS * N_TURNS, "the counter");
    require(!word->compare_exchange(expected, 1) && expected == word->load(),
            "a word that is another");
    require(word->compare_exchange(expected, 1) && word->exchange(9) == 1 &&
                word->load() == 9,
            "a word that is as expected");
    require(all.nodes_seen == (std::uint64_t(1) << teamster::node_count()) - 1,
            "threads on all nodes");
}

// A mutex that another thread holds.
void try_to_lock(job &all)
{
    const std::lock_guard lock(all.mutex);
    teamster::thread other([p = &all] {
        require(!p->mutex.try_lock(), "try_lock()");
        require(!p->mutex.try_lock_for(std::chrono::milliseconds(5)),
                "try_lock_for()");
        require(p->shared.try_lock() && !p->rooms.try_acquire(),
                "what is free");
        p->shared.unlock();
    });
}

// @return the status of what it threw
tm_status wait_of_none(job &all)
{
    teamster::semaphore wild;

    try {
        all.meeting.init(0);
    } catch (const teamster::error &error) {
        return error.status();
    }
    (void)wild;
    return TM_OK;
}

void spans()
{
    const teamster::array<int> block(10,
                                     teamster::attr("ten").placement(TM_BLOCK));
    teamster::array<int> given;
    std::size_t n = 0;

    for (unsigned me = 0; me < 4; me++) {
        for (int &value : block.view().part(me, 4)) {
            require(&value == &block[n], "parts in order");
            value = static_cast<int>(n++);
        }
    }
    require(n == block.size() && block.view().part(3, 4).size() == 2, "parts");
    require(block.view().subview(2, 3)[1] == 3, "a view's part");
#ifdef __cpp_lib_span
    const std::span<int> span = block.view();
    require(span.size() == 10 && span.back() == 9, "a span");
#endif
    given = teamster::array<int>(3);
    require(given.size() == 3 && given[2] == 0, "an array that was given");
}

long fib(int n)
{
    const teamster::array<long> parts(2);
    teamster::task_group group;

    if (n < 12) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
    group.run([n, parts = parts.view()] { parts[0] = fib(n - 1); });
    group.run([n, parts = parts.view()] { parts[1] = fib(n - 2); });
    group.wait();
    return parts[0] + parts[1];
}

void tasks()
{
    const teamster::array<int> squares(5000);
    teamster::task_group none;

    require(fib(16) == 987, "tasks");
    for (int turn = 0; turn < 3; turn++) {
        teamster::parallel_for(0, 5000,
                               [all = squares.view()](long from, long to) {
                                   for (long i = from; i < to; i++) {
                                       all[i] += static_cast<int>(i % 100);
                                   }
                               });
    }
    for (int i = 0; i < 5000; i++) {
        require(squares[i] == i % 100 * 3, "a loop");
    }
    require(teamster::parallel_reduce<long>(
                0, 5000, 7,
                [all = squares.view()](long from, long to) {
                    long sum = 0;

                    for (long i = from; i < to; i++) {
                        sum += all[i];
                    }
                    return sum;
                },
                50) == 7 + 50 * 4950 * 3,
            "a sum");
    require(teamster::parallel_reduce<long, std::multiplies<long>>(
                0, 3, 2, [](long from, long to) { return to - from; }, 1) == 2,
            "a product");
    none.wait();
}

} // namespace

int main(int argc, char **argv)
{
    teamster::init(argc, argv);
    const auto all = teamster::make_unique<job>();

    all->rooms.init(2);
    all->meeting.init(N_THREADS);
    run(*all);
    look_at(*all);
    all->rooms.acquire();
    all->rooms.acquire();
    try_to_lock(*all);
    require(wait_of_none(*all) == TM_EINVAL, "an error");
    spans();
    tasks();
    std::puts("right");
    return 0;
}
