// SPDX-License-Identifier: BSD-3-Clause
// POSIX and C++ threads that meet at a barrier while main() waits for their ends: these come
// when it is held for a checkpoint that is not made any more.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

constexpr int THREADS = 4;
constexpr int STEPS = 318;

static pthread_barrier_t barrier;
static std::mutex mutex;
static std::vector<long> counts(THREADS);
static std::vector<std::string> lines;

static void work(int me)
{
    std::vector<int> own(5000 + me);
    std::string told;

    for (int step = 0; step < STEPS; step++) {
        std::iota(own.begin(), own.end(), step);
        pthread_barrier_wait(&barrier);
        {
            std::lock_guard<std::mutex> guard(mutex);

            counts[(me + step) % THREADS] += own[me] + own.back();
        }
        if (me == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        pthread_barrier_wait(&barrier);
        if (me == 1 && step % 50 == 0) {
            told += "step " + std::to_string(step) + ", ";
        }
    }
    std::lock_guard<std::mutex> guard(mutex);
    lines.push_back(std::to_string(me) + ": " + told +
                    std::to_string(own.size()));
}

int main()
{
    std::vector<std::thread> threads;

    pthread_barrier_init(&barrier, nullptr, THREADS);
    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back(work, i);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::printf("%zu lines, %ld counted\n", lines.size(),
                std::accumulate(counts.begin(), counts.end(), 0l));
    return 0;
}
