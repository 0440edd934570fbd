// SPDX-License-Identifier: BSD-3-Clause
// Heat in a square plate, by Jacobi's method: jacobi.cc [SIZE [ITERATIONS [THREADS]]].
#include <cstdio>
#include <cstdlib>
#include <teamster.hpp>
#include <utility>
#include <vector>

TM_SHARED static teamster::barrier meeting;

namespace
{

using rows = teamster::view<double>; // of size + 2 points each

double start_value(std::size_t row, std::size_t column)
{
    return static_cast<double>((row * 31 + column * 17) & 127) * 0.125;
}

void step(rows to, rows from, std::size_t width, std::size_t row)
{
    const double *middle = &from[row * width];

    for (std::size_t i = 1; i < width - 1; i++) {
        to[row * width + i] = 0.25 * (middle[i - width] + middle[i + width] +
                                      middle[i - 1] + middle[i + 1]);
    }
}

unsigned long argument(int argc, char **argv, int i, unsigned long otherwise)
{
    return i < argc ? std::strtoul(argv[i], nullptr, 10) : otherwise;
}

} // namespace

int main(int argc, char **argv)
{
    teamster::init(argc, argv);

    const std::size_t size = argument(argc, argv, 1, 256);
    const unsigned long n_iterations = argument(argc, argv, 2, 50);
    const auto n_threads = static_cast<unsigned>(argument(argc, argv, 3, 8));
    const std::size_t width = size + 2;
    const teamster::array<double> one(width * width, {"one"});
    const teamster::array<double> other(width * width, {"other"});
    double sum = 0;

    for (std::size_t i = 0; i < one.size(); i++) {
        one[i] = other[i] = start_value(i / width, i % width);
    }
    meeting.init(n_threads);
    {
        std::vector<teamster::thread> team; // joined where it ends

        for (unsigned me = 0; me < n_threads; me++) {
            team.emplace_back(
                [=, from = one.view(), to = other.view()]() mutable {
                    const std::size_t first = size * me / n_threads + 1;
                    const std::size_t end = size * (me + 1) / n_threads + 1;

                    for (unsigned long i = 0; i < n_iterations; i++) {
                        for (std::size_t row = first; row < end; row++) {
                            step(to, from, width, row);
                        }
                        std::swap(to, from);
                        meeting.iteration_end();
                    }
                });
        }
    }
    for (double value : n_iterations % 2 == 0 ? one : other) {
        sum += value;
    }
    std::printf("sum: %a\n", sum);
    return 0;
}
