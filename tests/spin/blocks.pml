// SPDX-License-Identifier: BSD-3-Clause
//
// A block that is freed, and the next one, which gets its pages: what src/pages/blocks.c and
// blocks_root.c do, for the models with -DFREED. The root is node 0. As soon as the pages are nobody's
// the next block has them, and as soon as all nodes know it any node may use it.
//
//   USED        free_block() ------> CLOSING     CLOSE to all
//   CLOSING     all have answered -> FORGETTING  GONE to all: nothing of the block is on its way (B1)
//   FORGETTING  all have answered -> TELLING     NEW to all
//   TELLING     all have answered -> USED_AGAIN
//
// Who frees the block has ordered all uses of it before that, but what was written on its own node need not be
// released. Releases go on meanwhile.
//
// A model includes this twice: for the state, and for the steps behind its check(). It has then
//   SAY(src, dst, type)  a message without fields
//   IS_FINISHED(x)       a node has all its answers and acknowledgements
//   close_pages(x)       what it has written is released no more
//   forget_pages(x)      as if they had never been touched
//   begin_anew()         for the checks: zeros, which nobody has written

#ifndef BLOCKS
#define BLOCKS

#define USED 0
#define CLOSING 1
#define FORGETTING 2
#define TELLING 3
#define USED_AGAIN 4
byte block;
byte n_missing; // who has not answered yet
byte n_on_way;  // messages about its pages, but for those that name their block

// What a node knows.
#define OPEN 0
#define CLOSED 1
#define NONE 2
#define OPEN_AGAIN 3
byte known[NODES];
bit is_closing[NODES]; // and has not answered yet

#define IS_USED_NOW (block == USED || block == USED_AGAIN)
#define SERIAL(x) (known[x] == OPEN_AGAIN)
#define IS_KNOWN(x, serial)                                                    \
    ((known[x] == OPEN || known[x] == OPEN_AGAIN) && SERIAL(x) == (serial))

#else

inline say_to_all(type)
{
    n = 0;
    do
    :: n <= LAST -> SAY(0, n, type); n++
    :: else -> break
    od;
    n_missing = LAST + 1;
}

inline free_block(x)
{
    printf("%d: frees the block\n", x);
    block = CLOSING;
    say_to_all(CLOSE);
    check();
}

inline answer_if_finished(x)
{
    if
#ifdef M_CLOSED_TOO_EARLY
    :: is_closing[x] ->
#else
    :: is_closing[x] && IS_FINISHED(x) ->
#endif
        is_closing[x] = 0;
        SAY(x, 0, ANSWER);
    :: else
    fi
}

inline on_close(x)
{
    known[x] = CLOSED;
    is_closing[x] = 1;
    close_pages(x);
}

inline on_gone(x)
{
    assert(known[x] == CLOSED && !is_closing[x]);
    known[x] = NONE;
    forget_pages(x);
    SAY(x, 0, ANSWER);
}

inline on_new(x)
{
    assert(known[x] == NONE);
    known[x] = OPEN_AGAIN;
    SAY(x, 0, ANSWER);
}

inline on_answer()
{
    n_missing--;
    if
    :: n_missing > 0
    :: n_missing == 0 && block == CLOSING ->
#ifndef MAY_BREAK_B1
        assert(n_on_way == 0); // B1
#endif
        block = FORGETTING;
        say_to_all(GONE);
    :: n_missing == 0 && block == FORGETTING ->
        begin_anew();
        block = TELLING;
        say_to_all(NEW);
    :: n_missing == 0 && block == TELLING -> block = USED_AGAIN;
    fi
}

#endif
