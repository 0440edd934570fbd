// SPDX-License-Identifier: BSD-3-Clause
// Where TM_SHARED may stand, for header_test.sh: with WRONG, one place where it would
// belong to a type, so that the variable would be each node's own. Compiled, never run.
#include <teamster.h>

#if !defined(WRONG)
TM_SHARED int before = 1;
static TM_SHARED int between[3];
TM_SHARED struct pair {
    int next;
    tm_mutex lock;
} of_a_struct;
extern TM_SHARED int *declared;
TM_SHARED int *declared;
int TM_SHARED behind_the_type;

int main(void)
{
    return before + between[0] + of_a_struct.next + behind_the_type + *declared;
}
#elif WRONG == 1
struct TM_SHARED foo {
    int value;
} x = {3};
#elif WRONG == 2
typedef TM_SHARED int shared_int;
shared_int x = 3;
#elif WRONG == 3
enum TM_SHARED kind { A, B } x = A;
#endif
