// SPDX-License-Identifier: BSD-3-Clause
#ifndef TEAMSTER_HPP
#define TEAMSTER_HPP
/*
 * Teamster for C++17: teamster.h with objects that give back what they hold, threads that run
 * lambdas, spans, and exceptions. Nothing here adds a function to the library, and nothing
 * costs more than the call of teamster.h beneath it, whose reference holds.
 *
 *     #include <teamster.hpp>
 *
 *     TM_SHARED static teamster::barrier meeting;
 *
 *     int main(int argc, char **argv)
 *     {
 *         teamster::init(argc, argv);
 *         teamster::array<double> grid(1 << 20, {"grid"});
 *         std::vector<teamster::thread> team;
 *
 *         meeting.init(8);
 *         for (unsigned me = 0; me < 8; me++) {
 *             team.emplace_back([me, grid = grid.view()] {
 *                 fill(grid.part(me, 8));
 *                 meeting.wait();
 *             });
 *         }
 *     } // threads are joined, then the array is freed
 *
 * What a thread on another node can reach is shared memory alone. So:
 * - A lambda for a thread captures by value: numbers, pointers to shared memory, views. It is
 *   copied, byte by byte, into shared memory. A capture by reference of a local variable
 *   compiles, and is the mistake that docs/api.md tells of.
 * - A mutex and its like lie in shared memory: TM_SHARED variables, members of blocks. They are
 *   named by their address, so they are neither copied nor moved.
 * - Objects that own something (array, thread, unique_ptr) belong to who made them and may lie
 *   anywhere; what others get is a view or a plain pointer.
 * - Containers of the standard library may have teamster::allocator; the container itself then
 *   lies in shared memory, too (make_unique), and those who change it hold a mutex.
 *
 * An exception that leaves a thread's function ends the program. Where teamster.h ends the
 * program (a deadlock, a barrier that was never initialised), so does this.
 */
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif

#include "teamster.h"

namespace teamster
{

// ---- errors, start ----

/** What is thrown for each tm_status but those that a function's result tells. */
class error : public std::runtime_error
{
  public:
    error(const char *call, tm_status status)
        : std::runtime_error(std::string(call) + ": " + tm_strerror(status)),
          status_(status)
    {
    }

    tm_status status() const noexcept
    {
        return status_;
    }

  private:
    tm_status status_;
};

namespace detail
{

inline void check(const char *call, tm_status status)
{
    if (status != TM_OK) {
        throw error(call, status);
    }
}

/** For calls that may find something taken, or come too late. @return 0 if so */
inline bool check_got(const char *call, tm_status status)
{
    if (status == TM_EBUSY || status == TM_ETIMEDOUT) {
        return false;
    }
    check(call, status);
    return true;
}

template <class Duration>
timespec to_timespec(const std::chrono::time_point<std::chrono::system_clock,
                                                   Duration> &deadline)
{
    using namespace std::chrono;
    const auto since = deadline.time_since_epoch();
    const auto whole = floor<seconds>(since);
    timespec time{};

    time.tv_sec = static_cast<time_t>(whole.count());
    time.tv_nsec =
        static_cast<long>(duration_cast<nanoseconds>(since - whole).count());
    return time;
}

} // namespace detail

/** tm_init(): first in main(). Does not return on nodes other than the root. */
inline void init(int &argc, char **&argv)
{
    detail::check("tm_init()", tm_init(&argc, &argv));
}

inline unsigned node_count() noexcept
{
    return tm_node_count();
}

inline unsigned node_self() noexcept
{
    return tm_node_self();
}

// ---- shared memory ----

/** tm_alloc_attr, with members that can be chained:
 * `attr("grid").placement(TM_BLOCK).protocol(TM_LAZY_RELEASE)`. */
class attr
{
  public:
    attr() = default;
    attr(const char
             *name) // NOLINT(google-explicit-constructor): {"grid"} is an attr
    {
        value_.name = name;
    }
    attr &protocol(tm_protocol protocol)
    {
        value_.protocol = protocol;
        return *this;
    }
    attr &placement(tm_placement placement)
    {
        value_.placement = placement;
        return *this;
    }
    attr &on_node(unsigned node)
    {
        value_.placement = TM_ON_NODE;
        value_.node = node;
        return *this;
    }
    attr &sharing(tm_sharing sharing)
    {
        value_.sharing = sharing;
        return *this;
    }
    attr &alignment(std::size_t alignment)
    {
        value_.alignment = alignment;
        return *this;
    }
    attr &grain(std::size_t grain)
    {
        value_.grain = grain;
        return *this;
    }
    const tm_alloc_attr *get() const noexcept
    {
        return &value_;
    }

  private:
    tm_alloc_attr value_{};
};

/** Consecutive elements of shared memory that somebody else owns: a pointer and a number, to
 * be copied and captured at will. Becomes a std::span where there is one (C++20). */
template <class T> class view
{
  public:
    constexpr view() = default;
    constexpr view(T *data, std::size_t size) : data_(data), size_(size)
    {
    }
#ifdef __cpp_lib_span
    constexpr operator std::span<T>()
        const noexcept // NOLINT: they are the same
    {
        return {data_, size_};
    }
#endif
    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr T &operator[](std::size_t i) const
    {
        return data_[i];
    }
    constexpr view subview(std::size_t first, std::size_t size) const
    {
        return view(data_ + first, size);
    }

    /** The `me`-th of `n` parts, as equal as can be, in order. */
    constexpr view part(std::size_t me, std::size_t n) const
    {
        const std::size_t first =
            size_ / n * me + (me < size_ % n ? me : size_ % n);

        return view(data_ + first, size_ / n + (me < size_ % n));
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail
{

template <class T> T *allocate(std::size_t n, const tm_alloc_attr *attributes)
{
    if (n > SIZE_MAX / sizeof(T)) {
        throw std::bad_array_new_length();
    }
    if (void *block = tm_alloc(n * sizeof(T), attributes)) {
        return static_cast<T *>(block);
    }
    throw std::bad_alloc();
}

} // namespace detail

/** A block of shared memory with `size` elements, all bytes zero. Freed by its destructor: no
 * other thread may be using it then. */
template <class T> class array : public view<T>
{
    static_assert(
        std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
        "elements of teamster::array begin as zero bytes and end without a "
        "destructor: use make_unique() or a container with allocator");

  public:
    array() = default;

    /** @throws std::bad_alloc  there is no room, or an attribute is out of range */
    explicit array(std::size_t size, const attr &attributes = {})
        : teamster::view<T>(detail::allocate<T>(size, attributes.get()), size)
    {
    }
    array(array &&other) noexcept
        : teamster::view<T>(std::exchange(other.elements(), {}))
    {
    }
    array &operator=(array &&other) noexcept
    {
        std::swap(elements(), other.elements());
        return *this;
    }
    ~array()
    {
        (void)tm_free(this->data());
    }

    teamster::view<T> view() const noexcept
    {
        return *this;
    }

  private:
    teamster::view<T> &elements() noexcept
    {
        return *this;
    }
};

/** For containers whose elements all nodes use. */
template <class T> struct allocator {
    using value_type = T;

    allocator() = default;
    template <class U>
    allocator(const allocator<U> &) noexcept // NOLINT: as std::allocator
    {
    }
    T *allocate(std::size_t n)
    {
        tm_alloc_attr attributes{};

        attributes.alignment = alignof(T) > 16 ? alignof(T) : 0;
        return detail::allocate<T>(n, &attributes);
    }
    void deallocate(T *block, std::size_t) noexcept
    {
        (void)tm_free(block);
    }
    friend bool operator==(const allocator &, const allocator &) noexcept
    {
        return true;
    }
    friend bool operator!=(const allocator &, const allocator &) noexcept
    {
        return false;
    }
};

template <class T> struct shared_delete {
    void operator()(T *object) const noexcept
    {
        object->~T();
        (void)tm_free(object);
    }
};

/** An object in shared memory, destroyed and freed with its owner. */
template <class T> using unique_ptr = std::unique_ptr<T, shared_delete<T>>;

template <class T, class... Arguments>
unique_ptr<T> make_unique(Arguments &&...arguments)
{
    allocator<T> memory;
    T *room = memory.allocate(1);

    try {
        return unique_ptr<T>(::new (static_cast<void *>(room))
                                 T(std::forward<Arguments>(arguments)...));
    } catch (...) {
        memory.deallocate(room, 1);
        throw;
    }
}

// ---- synchronisation: in shared memory, named by its address ----

namespace detail
{

struct fixed {
    constexpr fixed() = default;
    fixed(const fixed &) = delete;
    fixed &operator=(const fixed &) = delete;
};

} // namespace detail

/** For std::lock_guard, std::unique_lock, std::scoped_lock. */
class mutex : detail::fixed
{
  public:
    void lock()
    {
        detail::check("tm_mutex_lock()", tm_mutex_lock(&mutex_));
    }
    bool try_lock()
    {
        return detail::check_got("tm_mutex_trylock()",
                                 tm_mutex_trylock(&mutex_));
    }
    template <class Duration>
    bool try_lock_until(const std::chrono::time_point<std::chrono::system_clock,
                                                      Duration> &deadline)
    {
        const timespec time = detail::to_timespec(deadline);

        return detail::check_got("tm_mutex_timedlock()",
                                 tm_mutex_timedlock(&mutex_, &time));
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_lock_until(std::chrono::system_clock::now() + time);
    }
    void unlock()
    {
        detail::check("tm_mutex_unlock()", tm_mutex_unlock(&mutex_));
    }
    /** tm_bind(): with entry consistency these data travel with the mutex. */
    template <class T> void bind(view<T> data)
    {
        detail::check("tm_bind()",
                      tm_bind(&mutex_, data.data(), data.size() * sizeof(T)));
    }
    tm_mutex *native_handle() noexcept
    {
        return &mutex_;
    }

  private:
    tm_mutex mutex_{};
};

/** For std::shared_lock, and as mutex. */
class shared_mutex : detail::fixed
{
  public:
    void lock()
    {
        detail::check("tm_rwlock_wrlock()", tm_rwlock_wrlock(&lock_));
    }
    bool try_lock()
    {
        return detail::check_got("tm_rwlock_trywrlock()",
                                 tm_rwlock_trywrlock(&lock_));
    }
    void unlock()
    {
        detail::check("tm_rwlock_unlock()", tm_rwlock_unlock(&lock_));
    }
    void lock_shared()
    {
        detail::check("tm_rwlock_rdlock()", tm_rwlock_rdlock(&lock_));
    }
    bool try_lock_shared()
    {
        return detail::check_got("tm_rwlock_tryrdlock()",
                                 tm_rwlock_tryrdlock(&lock_));
    }
    void unlock_shared()
    {
        unlock();
    }
    tm_rwlock *native_handle() noexcept
    {
        return &lock_;
    }

  private:
    tm_rwlock lock_{};
};

class condition_variable : detail::fixed
{
  public:
    void wait(std::unique_lock<mutex> &lock)
    {
        detail::check("tm_cond_wait()",
                      tm_cond_wait(&cond_, lock.mutex()->native_handle()));
    }
    template <class Predicate>
    void wait(std::unique_lock<mutex> &lock, Predicate predicate)
    {
        while (!predicate()) {
            wait(lock);
        }
    }
    /** @return what the predicate says when the wait has ended */
    template <class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex> &lock,
                    const std::chrono::time_point<std::chrono::system_clock,
                                                  Duration> &deadline,
                    Predicate predicate)
    {
        const timespec time = detail::to_timespec(deadline);

        while (!predicate()) {
            if (!detail::check_got(
                    "tm_cond_timedwait()",
                    tm_cond_timedwait(&cond_, lock.mutex()->native_handle(),
                                      &time))) {
                return predicate();
            }
        }
        return true;
    }
    void notify_one()
    {
        detail::check("tm_cond_signal()", tm_cond_signal(&cond_));
    }
    void notify_all()
    {
        detail::check("tm_cond_broadcast()", tm_cond_broadcast(&cond_));
    }

  private:
    tm_cond cond_{};
};

/** 0 until init(). */
class semaphore : detail::fixed
{
  public:
    void init(unsigned value)
    {
        detail::check("tm_sem_init()", tm_sem_init(&sem_, value));
    }
    void acquire()
    {
        detail::check("tm_sem_wait()", tm_sem_wait(&sem_));
    }
    bool try_acquire()
    {
        return detail::check_got("tm_sem_trywait()", tm_sem_trywait(&sem_));
    }
    void release()
    {
        detail::check("tm_sem_post()", tm_sem_post(&sem_));
    }

  private:
    tm_sem sem_{};
};

/** init() first. All threads of one turn call the same function. */
class barrier : detail::fixed
{
  public:
    void init(unsigned count)
    {
        detail::check("tm_barrier_init()", tm_barrier_init(&barrier_, count));
    }
    void wait()
    {
        detail::check("tm_barrier_wait()", tm_barrier_wait(&barrier_));
    }
    /** The only place where threads move to other nodes. */
    void iteration_end()
    {
        detail::check("tm_iteration_end()", tm_iteration_end(&barrier_));
    }
    /** The values of all threads combined, in the order of thread numbers. */
    double reduce(tm_op op, double value)
    {
        double result = 0;

        detail::check("tm_reduce_double()",
                      tm_reduce_double(&barrier_, op, value, &result));
        return result;
    }
    std::int64_t reduce(tm_op op, std::int64_t value)
    {
        std::int64_t result = 0;

        detail::check("tm_reduce_int64()",
                      tm_reduce_int64(&barrier_, op, value, &result));
        return result;
    }

  private:
    tm_barrier barrier_{};
};

/** The value of a parameter in this iteration, tm_tune(): the first one is what the program
 * would take untuned. Each call of a name has the same values. */
inline std::int64_t tune(const char *name,
                         std::initializer_list<std::int64_t> values)
{
    return tm_tune(name, values.begin(), unsigned(values.size()));
}

/** A word that all nodes change in single steps, which order other accesses too. */
class atomic_int64 : detail::fixed
{
  public:
    constexpr atomic_int64(std::int64_t value = 0) // NOLINT: as std::atomic
        : word_(value)
    {
    }
    std::int64_t load() const
    {
        return tm_atomic_load(&word_);
    }
    void store(std::int64_t value)
    {
        tm_atomic_store(&word_, value);
    }
    std::int64_t exchange(std::int64_t value)
    {
        return tm_exchange(&word_, value);
    }
    std::int64_t fetch_add(std::int64_t addend)
    {
        return tm_fetch_add(&word_, addend);
    }
    /** @param expected  is set to what was there instead. @return 1 if it was `expected` */
    bool compare_exchange(std::int64_t &expected, std::int64_t value)
    {
        const std::int64_t before =
            tm_compare_exchange(&word_, expected, value);

        return before == std::exchange(expected, before);
    }

  private:
    alignas(8) std::int64_t word_;
};

// ---- threads ----

/** A thread that runs a lambda (or another object that can be called), and is joined by its
 * destructor at the latest. */
class thread
{
  public:
    thread() = default;

    /**
     * @param function    copied into shared memory: what it has captured is trivially copyable
     * @param attributes  as tm_thread_create() has them
     */
    template <class Function, class = std::enable_if_t<!std::is_same_v<
                                  std::decay_t<Function>, thread>>>
    explicit thread(Function &&function, const tm_thread_attr &attributes = {})
    {
        using stored = std::decay_t<Function>;
        static_assert(
            std::is_trivially_copyable_v<stored> &&
                std::is_trivially_destructible_v<stored>,
            "a thread may run on another node: let the lambda capture numbers, "
            "views and pointers to shared memory, not strings or vectors");
        static_assert(std::is_invocable_v<stored &>,
                      "a thread's function is called without arguments");

        function_ = unique_block(
            make_unique<stored>(std::forward<Function>(function)).release());
        detail::check("tm_thread_create()",
                      tm_thread_create(&number_, &attributes, run<stored>,
                                       function_.get()));
    }
    thread(thread &&other) noexcept = default;
    thread &operator=(thread &&other) noexcept
    {
        std::swap(number_, other.number_);
        std::swap(function_, other.function_);
        return *this;
    }
    ~thread()
    {
        if (joinable()) {
            join();
        }
    }

    bool joinable() const noexcept
    {
        return function_ != nullptr;
    }
    /** Wait until it has ended. What it wrote, the caller sees. */
    void join()
    {
        detail::check("tm_thread_join()", tm_thread_join(number_, nullptr));
        function_.reset();
    }
    tm_thread get_id() const noexcept
    {
        return number_;
    }

  private:
    struct free_block {
        void operator()(void *block) const noexcept
        {
            (void)tm_free(block);
        }
    };
    using unique_block = std::unique_ptr<void, free_block>;

    template <class Stored> static void *run(void *function) noexcept
    {
        (*static_cast<Stored *>(function))();
        return nullptr;
    }

    tm_thread number_ = 0;
    unique_block function_;
};

// ---- tasks and loops ----

namespace detail
{

template <class Function> constexpr void check_task()
{
    static_assert(
        std::is_trivially_copyable_v<Function> &&
            std::is_trivially_destructible_v<Function>,
        "a task may run on another node: let the lambda capture numbers, "
        "views and pointers to shared memory, not strings or vectors");
    static_assert(sizeof(Function) <= TM_TASK_BYTES,
                  "a task's lambda has at most TM_TASK_BYTES: capture a view");
}

template <class T, class Operation> void combine(void *into, const void *value)
{
    T &sum = *static_cast<T *>(into);

    sum = Operation()(sum, *static_cast<const T *>(value));
}

template <class Body>
void loop(std::int64_t first, std::int64_t end, Body body, std::int64_t grain,
          const tm_reduction *reduction)
{
    tm_loop_attr attributes{};

    check_task<Body>();
    attributes.arg_size = sizeof body;
    attributes.reduction = reduction;
    check("tm_parallel_for()",
          tm_parallel_for(
              first, end, grain,
              [](std::int64_t from, std::int64_t to, void *own) noexcept {
                  (*static_cast<Body *>(own))(from, to);
              },
              &body, &attributes));
}

} // namespace detail

/** Tasks that are waited for together, by the destructor at the latest. It stays with the thread
 * or task that made it, on the stack mostly. */
class task_group : detail::fixed
{
  public:
    task_group() = default;
    ~task_group()
    {
        (void)tm_wait(&group_);
    }

    /** Have a lambda run as a task, on any node: it is copied. */
    template <class Function> void run(Function function)
    {
        detail::check_task<Function>();
        detail::check("tm_spawn()", tm_spawn(
                                        &group_,
                                        [](void *own) noexcept {
                                            (*static_cast<Function *>(own))();
                                        },
                                        &function, sizeof function));
    }
    void wait()
    {
        detail::check("tm_wait()", tm_wait(&group_));
    }

  private:
    tm_group group_{};
};

/**
 * Run the iterations `first` to `end` - 1 on all workers of all nodes, by calls
 * body(from, to) of which each does those from `from` to `to` - 1.
 *
 * @param body   copied to all nodes
 * @param grain  the most iterations of a call; 0: as is best
 */
template <class Body>
void parallel_for(std::int64_t first, std::int64_t end, Body body,
                  std::int64_t grain = 0)
{
    detail::loop(first, end, body, grain, nullptr);
}

/**
 * parallel_for() whose calls return values, which are put together, with `initial`, by
 * Operation()(T, T): associative and commutative, since the order differs from run to run.
 */
template <class T, class Operation = std::plus<T>, class Body>
T parallel_reduce(std::int64_t first, std::int64_t end, T initial, Body body,
                  std::int64_t grain = 0)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= TM_TASK_BYTES,
                  "values of a reduction are copied between nodes");
    T result = initial;
    const tm_reduction reduction = {detail::combine<T, Operation>, sizeof(T),
                                    &initial, &result};

    detail::loop(
        first, end,
        [body](std::int64_t from, std::int64_t to) mutable {
            const T value = body(from, to);

            detail::check("tm_contribute()", tm_contribute(&value));
        },
        grain, &reduction);
    return result;
}

namespace this_thread
{

inline tm_thread get_id() noexcept
{
    return tm_thread_self();
}

inline void yield() noexcept
{
    tm_thread_yield();
}

} // namespace this_thread

} // namespace teamster

#endif
