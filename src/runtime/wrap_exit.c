// SPDX-License-Identifier: BSD-3-Clause
//
// pthread_exit() and thrd_exit(): the C library's would end the kernel thread, which is
// a worker, with all that other threads of the program were to do there. In a thread,
// and in main(), they are tm_thread_exit(). Cleanup handlers of the C library do not run
// then. What main() does before tm_init(), and kernel threads of the program's own, is
// the C library's affair.
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "runtime/node.h"
#include "runtime/wrap.h"

EXPORTED void pthread_exit(void *result)
{
    if (wrap_is_thread()) {
        tm_thread_exit(result);
    }
    CALL(pthread_exit)(result);
    abort();
}

EXPORTED void thrd_exit(int result)
{
    if (wrap_is_thread()) {
        tm_thread_exit((void *)(intptr_t)result);
    }
    CALL(thrd_exit)(result);
    abort();
}
