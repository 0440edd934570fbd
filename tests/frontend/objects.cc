// SPDX-License-Identifier: BSD-3-Clause
// OpenMP in C++: objects that are private to tasks, loops and reductions of tasks; iterators;
// `cancel` and `ordered(n)` around objects.
#include <cstdio>
#include <map>
#include <numeric>
#include <omp.h>
#include <string>
#include <vector>

namespace
{

int n_alive;

// Counts itself, and holds memory of its own.
class Bag
{
  public:
    Bag()
    {
        count(1);
    }
    Bag(const Bag &other) : words(other.words)
    {
        count(1);
    }
    Bag &operator=(const Bag &other) = default;
    ~Bag()
    {
        count(-1);
    }
    void add(int n)
    {
        words.push_back(std::to_string(n));
    }
    long sum() const
    {
        return std::accumulate(words.begin(), words.end(), 0L,
                               [](long s, const std::string &word) {
                                   return s + std::stol(word);
                               });
    }
    void join(const Bag &other)
    {
        words.insert(words.end(), other.words.begin(), other.words.end());
    }

  private:
    static void count(int n)
    {
#pragma omp atomic
        n_alive += n;
    }
    std::vector<std::string> words;
};

#pragma omp declare reduction(join:Bag : omp_out.join(omp_in))

void run_reductions()
{
    Bag by_group;
    Bag by_region;
    Bag by_loop;

#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(join : by_group)
        for (int i = 0; i < 30; i++) {
#pragma omp task in_reduction(join : by_group)
            by_group.add(i);
        }
#pragma omp taskloop reduction(join : by_loop) num_tasks(5)
        for (unsigned i = 0; i < 50; i++) {
            by_loop.add(static_cast<int>(i));
        }
    }
#pragma omp parallel reduction(task, join : by_region)
    {
        by_region.add(1000);
#pragma omp task in_reduction(join : by_region)
        by_region.add(7);
    }
    std::printf("reductions %ld %ld %ld\n", by_group.sum(), by_region.sum(),
                by_loop.sum());
}

void run_private()
{
    Bag given;
    std::vector<long> sums(20);
    std::map<int, long> by_number;

    given.add(5);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(given) shared(sums)
            {
                given.add(i);
                sums[static_cast<size_t>(i)] = given.sum();
            }
        }
#pragma omp taskloop firstprivate(given) shared(sums) grainsize(2)
        for (auto at = sums.begin() + 10; at < sums.end(); ++at) {
            given.add(1);
            *at = given.sum() > 5;
        }
    }
#pragma omp parallel for ordered(1) schedule(dynamic)
    for (int i = 0; i < 20; i++) {
        const std::string text = std::to_string(sums[static_cast<size_t>(i)]);
#pragma omp ordered depend(sink : i - 1)
        by_number[static_cast<int>(by_number.size())] = std::stol(text) + i;
#pragma omp ordered depend(source)
    }
    for (const auto &pair : by_number) {
        std::printf("%d:%ld ", pair.first, pair.second);
    }
    std::printf("private\n");
}

void throw_within()
{
    int n_caught = 0;

#pragma omp parallel reduction(task, + : n_caught)
    {
#pragma omp task in_reduction(+ : n_caught)
        try {
            Bag lost;
            throw std::string("within a task");
        } catch (const std::string &text) {
            n_caught += static_cast<int>(text.size());
        }
    }
    std::printf("caught %d\n", n_caught);
}

void cancel_with_objects()
{
#pragma omp parallel
    {
        Bag own;
        own.add(1);
#pragma omp for
        for (int i = 0; i < 40; i++) {
            Bag inner(own);
            if (i % 10 == 3) {
#pragma omp cancel for
            }
            inner.add(i);
        }
    }
    std::printf("alive %d\n", n_alive);
}

} // namespace

int main()
{
    omp_set_num_threads(4);
    run_reductions();
    run_private();
    throw_within();
    cancel_with_objects();
    return 0;
}
