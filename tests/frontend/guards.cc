// SPDX-License-Identifier: BSD-3-Clause
// Variables of functions that threads of all nodes reach first, one of them whose making fails twice:
// each is made once, and whoever has it sees all of it.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 8;
constexpr int kinds = 6;
constexpr int items = 3000;

std::mutex mutex;
int n_made;
int n_failed;
long sums[threads][kinds];

struct table {
    std::vector<long> values;

    explicit table(int kind)
    {
        const std::lock_guard<std::mutex> lock(mutex);

        if (kind == 3 && n_failed < 2) {
            n_failed++;
            throw std::runtime_error("not yet");
        }
        for (long i = 0; i < items; i++) {
            values.push_back(i * (kind + 1));
        }
        n_made++;
    }
};

template <int kind> const table &only()
{
    static const table made(kind);

    return made;
}

template <int kind> long add_up()
{
    long sum = 0;

    for (;;) {
        try {
            for (const long value : only<kind>().values) {
                sum += value;
            }
            return sum;
        } catch (const std::runtime_error &) {
            sum = 0;
        }
    }
}

void run(int number)
{
    for (int i = 0; i < 100; i++) {
        sums[number][0] += add_up<0>();
        sums[number][1] += add_up<1>();
        sums[number][2] += add_up<2>();
        sums[number][3] += add_up<3>();
        sums[number][4] += add_up<4>();
        sums[number][5] += add_up<5>();
    }
}

} // namespace

int main()
{
    std::vector<std::thread> all;

    for (int i = 0; i < threads; i++) {
        all.emplace_back(run, i);
    }
    for (std::thread &one : all) {
        one.join();
    }
    std::printf("%d made, %d failed\n", n_made, n_failed);
    for (int kind = 0; kind < kinds; kind++) {
        for (int i = 0; i < threads; i++) {
            std::printf("%ld ", sums[i][kind]);
        }
        std::printf("%ld\n", add_up<0>());
    }
    return 0;
}
