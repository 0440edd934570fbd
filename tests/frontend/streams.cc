// SPDX-License-Identifier: BSD-3-Clause
// A C++ stream and a FILE * of each thread, written by it and by the next one.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static const int THREADS = 6;
static std::mutex mutex;
static std::condition_variable changed;
static int turn;
static std::ofstream streams[THREADS];
static FILE *files[THREADS];
static std::string names[2 * THREADS];

static std::string new_name()
{
    char name[] = "streams-XXXXXX";

    close(mkstemp(name));
    return name;
}

static void show(const std::string &name)
{
    std::ifstream in(name);
    std::string line;

    while (std::getline(in, line)) {
        std::cout << line << "; ";
    }
    std::cout << '\n';
}

static void work(int me)
{
    std::unique_lock<std::mutex> lock(mutex);
    const int before = (me + THREADS - 1) % THREADS;

    changed.wait(lock, [me] { return turn == me; });
    names[me] = new_name();
    names[THREADS + me] = new_name();
    streams[me].open(names[me]);
    files[me] = fopen(names[THREADS + me].c_str(), "w");
    streams[me] << "stream of " << me << std::endl;
    fprintf(files[me], "file of %d, %s\n", me,
            fileno(files[me]) > 2 ? "open" : "?");
    if (me > 0) {
        streams[before] << "and " << me << std::endl;
        streams[before].close();
        fprintf(files[before], "and %d\n", me);
        fclose(files[before]);
        show(names[before]);
        show(names[THREADS + before]);
    }
    turn++;
    changed.notify_all();
}

int main()
{
    std::ios::sync_with_stdio(false); // lines of all threads keep their order
    std::vector<std::thread> threads;

    for (int i = 0; i < THREADS; i++) {
        threads.emplace_back(work, i);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    streams[THREADS - 1].close();
    fclose(files[THREADS - 1]);
    for (const std::string &name : names) {
        show(name);
        unlink(name.c_str());
    }
    return 0;
}
