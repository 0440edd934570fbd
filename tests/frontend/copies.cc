// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's tasks in C++: objects that they are given are copied where the task is made, and
// destroyed where it has run. Exceptions stay within a task.
#include <cstdio>
#include <mutex>
#include <numeric>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

std::mutex mutex;
int n_alive;

class Counted
{
  public:
    explicit Counted(int value) : list(20, value)
    {
        count(1);
    }
    Counted(const Counted &other) : list(other.list)
    {
        count(1);
    }
    ~Counted()
    {
        count(-1);
    }
    Counted &operator=(const Counted &) = delete;
    int sum() const
    {
        return std::accumulate(list.begin(), list.end(), 0);
    }

  private:
    static void count(int n)
    {
        std::lock_guard<std::mutex> guard(mutex);

        n_alive += n;
    }
    std::vector<int> list;
};

int walk(const std::string &name, int depth)
{
    int left = 0;
    int right = 0;

    if (depth == 0) {
        return static_cast<int>(name.size());
    }
#pragma omp task shared(left) firstprivate(name)
    left = walk(name + "a", depth - 1);
#pragma omp task shared(right) firstprivate(name)
    right =
        walk(name + "bc and so on, longer than what fits inside", depth - 1);
#pragma omp taskwait
    return left + right;
}

int sum_of_objects()
{
    std::vector<int> sums(100);

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
        Counted object(i);

#pragma omp task firstprivate(object, i) shared(sums)
        sums[i] = object.sum();
    }
    return std::accumulate(sums.begin(), sums.end(), 0);
}

int sum_of_loop()
{
    std::vector<int> sums(100);
    Counted object(3);

#pragma omp parallel
#pragma omp single
#pragma omp taskloop firstprivate(object) shared(sums) grainsize(9)
    for (int i = 0; i < 100; i++) {
        sums[i] = object.sum() + i;
    }
    return std::accumulate(sums.begin(), sums.end(), 0);
}

int n_caught()
{
    std::vector<int> caught(30);

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; i++) {
#pragma omp task shared(caught)
        {
            try {
                throw std::runtime_error(std::to_string(i));
            } catch (const std::exception &error) {
                caught[i] = std::stoi(error.what()) == i;
            }
        }
    }
    return std::accumulate(caught.begin(), caught.end(), 0);
}

} // namespace

int main()
{
    for (int n : {4, 2, 1}) {
        int total = 0;

        omp_set_num_threads(n);
#pragma omp parallel
#pragma omp single
        total = walk("", 6);
        std::printf("walk %d objects %d loop %d caught %d\n", total,
                    sum_of_objects(), sum_of_loop(), n_caught());
        std::printf("alive %d\n", n_alive);
    }
    return 0;
}
