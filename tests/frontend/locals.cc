// SPDX-License-Identifier: BSD-3-Clause
// Thread-local variables with destructors; exceptions in flight while threads are switched.
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
thread_local int counter = 5;
thread_local std::string name = "unset";
static __thread long raw;
static std::mutex m;
static long total;
struct D {
    ~D()
    {
        std::lock_guard<std::mutex> g(m);
        total += 1000;
    }
    int x = 1;
};
thread_local D d;
static int depth(int n)
{
    try {
        if (n == 0)
            throw n;
        return depth(n - 1);
    } catch (int) {
        {
            std::lock_guard<std::mutex> g(m);
        }
        std::this_thread::yield();
        if (n == 5)
            return 1;
        throw;
    }
}
int main()
{
    std::vector<std::thread> t;
    for (int i = 0; i < 8; i++)
        t.emplace_back([i] {
            name = std::to_string(i);
            d.x = i;
            for (int k = 0; k < 200; k++) {
                counter += i;
                raw++;
                if (k % 20 == 0) {
                    int r = depth(5);
                    std::lock_guard<std::mutex> g(m);
                    total += r;
                }
                if (name != std::to_string(i))
                    abort();
            }
            std::lock_guard<std::mutex> g(m);
            total += counter + raw;
        });
    for (auto &x : t)
        x.join();
    std::cout << total << " " << counter << " " << name << std::endl;
}
