// SPDX-License-Identifier: BSD-3-Clause
// What the threads of jacobi.py run:
//     cc -O2 -shared -fPIC jacobi_kernel.c -o jacobi_kernel.so -lteamster
#define TM_NO_SHARED_SECTION // a library has no TM_SHARED variables
#include <teamster.h>

struct task {
    double *grids[2];    // [width * width]
    tm_barrier *meeting; // of all threads
    int64_t width;
    int64_t first, end; // rows
    int64_t n_iterations;
};

void *jacobi(void *argument);

void *jacobi(void *argument)
{
    const struct task *task = argument;
    const int64_t width = task->width;

    for (int64_t k = 0; k < task->n_iterations; k++) {
        const double *from = task->grids[k % 2];
        double *to = task->grids[(k + 1) % 2];

        for (int64_t row = task->first; row < task->end; row++) {
            for (int64_t i = row * width + 1; i < (row + 1) * width - 1; i++) {
                to[i] = 0.25 * (from[i - width] + from[i + width] +
                                from[i - 1] + from[i + 1]);
            }
        }
        tm_iteration_end(task->meeting);
    }
    return NULL;
}
