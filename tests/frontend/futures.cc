// SPDX-License-Identifier: BSD-3-Clause
// A pool of threads with futures, shared locks, files and streams, exceptions between threads.
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <queue>
#include <shared_mutex>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <vector>
using namespace std;
class Pool
{
    vector<thread> ts;
    queue<function<void()>> q;
    mutex m;
    condition_variable cv;
    bool stop = false;

  public:
    Pool(int n)
    {
        for (int i = 0; i < n; i++)
            ts.emplace_back([this] {
                for (;;) {
                    function<void()> f;
                    {
                        unique_lock<mutex> l(m);
                        cv.wait(l, [this] { return stop || !q.empty(); });
                        if (q.empty())
                            return;
                        f = move(q.front());
                        q.pop();
                    }
                    f();
                }
            });
    }
    template <class F> future<int> add(F f)
    {
        auto p = make_shared<packaged_task<int()>>(f);
        auto r = p->get_future();
        {
            lock_guard<mutex> l(m);
            q.push([p] { (*p)(); });
        }
        cv.notify_one();
        return r;
    }
    ~Pool()
    {
        {
            lock_guard<mutex> l(m);
            stop = true;
        }
        cv.notify_all();
        for (auto &t : ts)
            t.join();
    }
};
int main(int, char **argv)
{
    {
        Pool p(4);
        vector<future<int>> f;
        for (int i = 0; i < 20; i++)
            f.push_back(p.add([i] { return i * i; }));
        int s = 0;
        for (auto &x : f)
            s += x.get();
        cout << "pool " << s << endl;
    }
    auto a = async(
        launch::async, [](int x) { return x + 1; }, 41);
    cout << a.get() << endl;
    shared_mutex sm;
    unordered_map<string, list<int>> um;
    vector<thread> t;
    for (int i = 0; i < 4; i++)
        t.emplace_back([&, i] {
            for (int k = 0; k < 50; k++) {
                {
                    unique_lock l(sm);
                    um["key" + to_string(k % 7)].push_back(i);
                }
                shared_lock l(sm);
                if (um.size() > 7)
                    abort();
            }
        });
    for (auto &x : t)
        x.join();
    size_t n = 0;
    for (auto &[k, v] : um)
        n += v.size();
    ostringstream o;
    o << setw(8) << n << fixed << setprecision(3) << 2.5;
    cout << o.str() << "\n";
    promise<string> pr;
    auto fu = pr.get_future();
    thread th([&] {
        this_thread::sleep_for(chrono::milliseconds(5));
        pr.set_value("promised");
    });
    cout << fu.get() << endl;
    th.join();
    try {
        async(launch::async, []() -> int {
            throw runtime_error("thrown");
        }).get();
    } catch (exception &e) {
        cout << e.what() << endl;
    }
    ofstream(argv[1]) << "line one\nline two\n";
    ifstream in(argv[1]);
    string l;
    while (getline(in, l))
        cout << l << '\n';
    thread([] { cout << "from a thread\n"; }).join();
    cout << "end\n";
    once_flag of;
    int cnt = 0;
    vector<thread> q;
    for (int i = 0; i < 4; i++)
        q.emplace_back([&] { call_once(of, [&] { cnt++; }); });
    for (auto &x : q)
        x.join();
    cout << cnt << endl;
}
