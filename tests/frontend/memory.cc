// SPDX-License-Identifier: BSD-3-Clause
// new that fails: std::bad_alloc, the handler, the form that returns nothing.
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <thread>
#include <vector>

static int n_handled;

static void handle()
{
    n_handled++;
    std::set_new_handler(nullptr);
}

static void *volatile block;

int main()
{
    int n_thrown = 0;
    bool is_none = false;

    std::set_new_handler(handle);
    std::thread([&] {
        volatile std::size_t size = PTRDIFF_MAX / 2;
        try {
            block = new char[size];
        } catch (const std::bad_alloc &) {
            n_thrown++;
        }
        try {
            block = ::operator new(size);
        } catch (const std::bad_alloc &) {
            n_thrown++;
        }
        block = new (std::nothrow) char[size];
        is_none = block == nullptr;
        struct alignas(256) wide {
            char bytes[256];
        };
        delete new wide;
        delete[] new wide[3];
        delete new (std::nothrow) std::string("text");
    }).join();
    std::printf("%d %d %d\n", n_thrown, n_handled, is_none);
    return 0;
}
