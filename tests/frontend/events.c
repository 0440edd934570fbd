// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's tasks that end by an event. What it prints is in events.out: with libgomp of GCC 12
// such programs hang in one run of two or three.
#include <omp.h>
#include <stdio.h>

static void run_events(void)
{
    int order = 0;
    int first = 0;
    omp_event_handle_t event;

#pragma omp parallel num_threads(2) shared(event, order, first)
    {
#pragma omp single
        {
#pragma omp task detach(event) shared(first)
            first = 1;
#pragma omp task shared(event, order)
            {
                order = 5;
                omp_fulfill_event(event);
            }
#pragma omp taskwait
            order += first;
        }
    }
    printf("events %d\n", order);
}

// Another thread fulfils it, which the one that waits does not see coming.
static void run_late_event(void)
{
    int is_made = 0;
    int told = 0;
    int seen = -1;
    omp_event_handle_t event;

#pragma omp parallel num_threads(2) shared(event)
#pragma omp sections
    {
#pragma omp section
        {
#pragma omp task detach(event)
            {
#pragma omp atomic write
                is_made = 1;
            }
#pragma omp taskwait
            seen = told;
        }
#pragma omp section
        {
            int has_it = 0;

            while (!has_it) {
#pragma omp atomic read
                has_it = is_made;
            }
            for (volatile int i = 0; i < 3000000; i++) {
            }
            told = 7;
            omp_fulfill_event(event);
        }
    }
    printf("late event %d\n", seen);
}

int main(void)
{
    run_events();
    run_late_event();
    return 0;
}
