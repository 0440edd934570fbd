// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <teamster.h>

TM_SHARED static int answer;

/* As in the library; the program's own must not get in its way. */
int mutex_lock(void);
int mutex_lock(void)
{
    return 42;
}

static void *set_answer(void *argument)
{
    (void)argument;
    answer = mutex_lock();
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread thread;

    if (tm_init(&argc, &argv) != TM_OK ||
        tm_thread_create(&thread, NULL, set_answer, NULL) != TM_OK ||
        tm_thread_join(thread, NULL) != TM_OK) {
        return 1;
    }
    printf("%d on node %u of %u\n", answer, tm_node_self(), tm_node_count());
    return tm_end() == TM_OK ? 0 : 1;
}
