// SPDX-License-Identifier: BSD-3-Clause
// Atomics that no instruction can do, pointers that are shared, std::call_once that throws,
// new of a program's own, and new that fails.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

struct Triple {
    long a, b, c;
};

static std::atomic<Triple> triple;
static std::shared_ptr<long> pointer = std::make_shared<long>(0);
static std::once_flag flag;
static std::atomic<int> n_tried{0};
static std::atomic<long> n_new{0};

void *operator new(std::size_t size)
{
    n_new++;
    if (void *block = std::malloc(size)) {
        return block;
    }
    throw std::bad_alloc();
}

void operator delete(void *block) noexcept
{
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    std::free(block);
}

static void try_once()
{
    if (n_tried++ < 3) {
        throw std::runtime_error("not yet");
    }
}

static void work()
{
    for (int i = 0; i < 50; i++) {
        Triple before = triple.load();
        std::shared_ptr<long> old = std::atomic_load(&pointer);

        while (!triple.compare_exchange_weak(
            before, {before.a + 1, before.b + 2, before.c + 3})) {
        }
        while (!std::atomic_compare_exchange_strong(
            &pointer, &old, std::make_shared<long>(*old + 1))) {
        }
    }
    for (bool done = false; !done;) {
        try {
            std::call_once(flag, try_once);
            done = true;
        } catch (const std::runtime_error &) {
        }
    }
}

int main()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < 4; i++) {
        threads.emplace_back(work);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    Triple end = triple.exchange({0, 0, 0});
    std::printf("%ld %ld %ld %ld %d %d %d\n", end.a, end.b, end.c, *pointer,
                (int)triple.load().a, n_tried.load(), n_new > 200);
    return 0;
}
