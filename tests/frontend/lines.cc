// SPDX-License-Identifier: BSD-3-Clause
// Nothing of the C library but what std::cout calls: lines of threads, in their order.
#include <iostream>
#include <thread>

int main()
{
    for (int i = 0; i < 100; i++) {
        std::thread([i] { std::cout << "thread " << i << "\n"; }).join();
        std::cout << "main " << i << "\n";
    }
}
