// SPDX-License-Identifier: BSD-3-Clause
// What C++ threads leave behind when they end: results that are ready then, conditions that are
// told then, tasks that pthread_exit() breaks off; errors of threads, times of long ago, and a
// handler of std::terminate() on whatever node the exception is thrown.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool is_done;
static int n_ended; // of thread-local objects

struct Local {
    int value = 1;
    ~Local()
    {
        n_ended += value;
    }
};

static thread_local Local local;

static void set_at_exit()
{
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::promise<void> failing;
    std::future<void> failed = failing.get_future();
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    std::future<int> result = task.get_future();
    std::thread thread([&] {
        local.value = 5;
        promise.set_value_at_thread_exit(42);
        failing.set_exception_at_thread_exit(
            std::make_exception_ptr(std::runtime_error("thrown at the end")));
        task.make_ready_at_thread_exit(6);
        std::printf("ready in it: %d\n", result.wait_for(std::chrono::seconds(
                                             0)) == std::future_status::ready);
    });
    const int value = future.get();

    std::printf("%d after %d", value, n_ended);
    std::printf(", %d", result.get());
    try {
        failed.get();
    } catch (const std::exception &error) {
        std::printf(", %s\n", error.what());
    }
    thread.join();
}

static void notify_at_exit()
{
    std::unique_lock<std::mutex> lock(mutex);
    std::thread thread([] {
        std::unique_lock<std::mutex> own(mutex);

        is_done = true;
        std::notify_all_at_thread_exit(changed, std::move(own));
    });

    changed.wait(lock, [] { return is_done; });
    lock.unlock();
    thread.join();
    std::puts("told at exit");
}

static void abandon()
{
    std::packaged_task<void()> task([] { pthread_exit(nullptr); });
    std::future<void> future = task.get_future();
    std::thread thread(std::move(task));

    try {
        future.get();
        std::puts("it has a result");
    } catch (const std::future_error &error) {
        std::printf("broken: %d\n",
                    error.code() == std::future_errc::broken_promise);
    }
    thread.join();
}

template <typename Function> static void expect_error(Function function)
{
    try {
        function();
        std::puts("no error");
    } catch (const std::system_error &error) {
        std::printf("error %d\n", error.code().value());
    }
}

static void make_errors()
{
    std::thread none;
    std::promise<int> promise;
    std::future<int> future = promise.get_future();

    expect_error([&] { none.join(); });
    expect_error([&] { none.detach(); });
    std::printf(
        "long ago: %d %d\n",
        future.wait_until(std::chrono::system_clock::time_point::min()) ==
            std::future_status::timeout,
        future.wait_until(std::chrono::steady_clock::time_point::min()) ==
            std::future_status::timeout);
}

static void on_terminate()
{
    std::puts("terminated");
    std::fflush(stdout);
    std::_Exit(n_ended > 0 ? 9 : 8);
}

int main()
{
    set_at_exit();
    notify_at_exit();
    abandon();
    make_errors();
    std::set_terminate(on_terminate);
    std::printf("kept %d\n", std::get_terminate() == on_terminate);
    std::fflush(stdout);
    for (int i = 0; i < 3; i++) {
        std::thread([] {}).join(); // so that the next is on another node
    }
    std::thread([] { throw 1; }).join();
}
