// SPDX-License-Identifier: BSD-3-Clause
// std::thread and its friends, containers, exceptions, global objects.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

static std::vector<std::string> names = {"one", "two",
                                         "a name that is longer than others"};
static std::mutex mutex;
static std::map<std::string, int> counts;
static std::atomic<int> n_done{0};

class Gate
{
  public:
    void open()
    {
        std::lock_guard<std::mutex> guard(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void pass()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

static int &registry()
{
    static int value = [] { return 40; }();
    return value;
}

static void work(Gate &gate, int me, std::vector<long> &results)
{
    std::vector<long> own;

    gate.pass();
    for (int i = 0; i < 1000; i++) {
        own.push_back(i * me);
    }
    try {
        if (me % 2 == 1) {
            throw std::string("odd");
        }
        results[me] = std::accumulate(own.begin(), own.end(), 0L);
    } catch (const std::string &what) {
        results[me] = -(long)what.size();
    }
    {
        std::lock_guard<std::mutex> guard(mutex);
        for (const auto &name : names) {
            counts[name + std::to_string(me)] += me + registry();
        }
    }
    n_done++;
}

int main()
{
    std::vector<std::thread> threads;
    std::vector<long> results(8);
    auto gate = std::make_unique<Gate>();
    auto shared = std::make_shared<std::vector<int>>();

    for (int i = 0; i < 8; i++) {
        threads.emplace_back(work, std::ref(*gate), i, std::ref(results));
    }
    gate->open();
    for (auto &thread : threads) {
        thread.join();
    }
    for (int i = 0; i < 4; i++) {
        threads[i] = std::thread([&, shared, i] {
            std::lock_guard<std::mutex> guard(mutex);
            shared->push_back(i);
        });
    }
    for (int i = 0; i < 4; i++) {
        threads[i].join();
    }
    std::sort(shared->begin(), shared->end());
    for (long result : results) {
        std::cout << result << " ";
    }
    std::cout << std::endl;
    for (const auto &[name, count] : counts) {
        std::cout << name << "=" << count << "\n";
    }
    for (int i : *shared) {
        std::cout << i;
    }
    std::cout << " " << n_done << " " << shared.use_count() << std::endl;
    return 0;
}
