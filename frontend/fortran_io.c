// SPDX-License-Identifier: BSD-3-Clause
//
// Fortran's input and output, as gfortran compiles it: a statement is a call that begins it, one for
// each item of its list, and one that ends it. From the first to the last of them libgfortran
// holds a lock of the unit, by which a second thread would stop the worker that has to go on with the
// first one, so there is a mutex around each statement here; the same one for all units, since a
// function in a list may have statements of its own.
//
// Units are the root's, as all files are. A thread of another node has each of these calls
// made there. What is written to or read from a variable (an internal unit) is done where it
// is: nobody else has that unit.
#include "front.h"

#include <stdint.h>

typedef uintptr_t word;
typedef word function_of_words(word, word, word, word, word);

/** A description of an item of a namelist, which is given by value. */
struct item_type {
    size_t size;
    uint64_t rest;
};

typedef void add_item_fn(void *statement, void *item, char *name, int kind,
                         size_t length, struct item_type type);

struct call {
    function_of_words *function;
    word given[5];
    add_item_fn *add; // instead of `function`
    struct item_type type;
    word answer;
};

/** IOPARM_DT_HAS_IOLENGTH and IOPARM_DT_HAS_INTERNAL_UNIT of libgfortran. */
enum { OF_NO_UNIT = 1 << 11 | 1 << 14 };

static tm_mutex mutex;

// ---- where and by whom

static void begin(void)
{
    if (front_thread()->n_statements++ == 0) {
        front_lock(&mutex);
    }
}

static void end(void)
{
    if (--front_thread()->n_statements == 0) {
        front_unlock(&mutex);
    }
}

static int has_unit(word statement)
{
    return (*(const int32_t *)statement & OF_NO_UNIT) == 0;
}

static long make(void *arguments)
{
    struct call *call = arguments;
    const word *given = call->given;

    if (call->add != NULL) {
        call->add((void *)given[0], (void *)given[1], (char *)given[2],
                  (int)given[3], given[4], call->type);
    } else {
        call->answer =
            call->function(given[0], given[1], given[2], given[3], given[4]);
    }
    return 0;
}

static word make_at_root(struct call *call)
{
    if (front_is_on_root()) {
        make(call);
    } else {
        front_at_root(make, call);
    }
    return call->answer;
}

// ---- calls

#define FIVE word a, word b, word c, word d, word e

/** A call that is a statement of its own, or none. */
#define WHOLE(name)                                                            \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        begin();                                                               \
        make_at_root(&call);                                                   \
        end();                                                                 \
        return call.answer;                                                    \
    }

#define BEGINS(name)                                                           \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        if (!has_unit(a)) {                                                    \
            return name(a, b, c, d, e);                                        \
        }                                                                      \
        begin();                                                               \
        return make_at_root(&call);                                            \
    }

#define ENDS(name)                                                             \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        if (!has_unit(a)) {                                                    \
            return name(a, b, c, d, e);                                        \
        }                                                                      \
        make_at_root(&call);                                                   \
        end();                                                                 \
        return call.answer;                                                    \
    }

// What is written may be a constant.
static void end_loan(struct front_loan loan, size_t size, int is_read)
{
    if (is_read) {
        front_end_loan(loan, size);
    } else if (loan.at != loan.own) {
        front_free(loan.at);
    }
}

/** An item of so many bytes at b, which may be memory of the caller's node alone; 0: it is not. */
#define ITEM(name, size, is_read)                                              \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        const size_t n_bytes = (size);                                         \
        struct front_loan loan;                                                \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        if (!has_unit(a)) {                                                    \
            return name(a, b, c, d, e);                                        \
        }                                                                      \
        if (n_bytes == 0) {                                                    \
            return make_at_root(&call);                                        \
        }                                                                      \
        loan = front_lend((const void *)b, n_bytes);                           \
        call.given[1] = (word)loan.at;                                         \
        make_at_root(&call);                                                   \
        end_loan(loan, n_bytes, is_read);                                      \
        return call.answer;                                                    \
    }

#define BOTH_WAYS(name, size) ITEM(name, size, 1) ITEM(name##_write, size, 0)

// Reals of kind 10 have 16 bytes.
#define OF_KIND(kind) ((unsigned)(kind) == 10 ? 16u : (unsigned)(kind))

WHOLE(_gfortran_st_open)
WHOLE(_gfortran_st_close)
WHOLE(_gfortran_st_inquire)
WHOLE(_gfortran_st_rewind)
WHOLE(_gfortran_st_backspace)
WHOLE(_gfortran_st_endfile)
WHOLE(_gfortran_st_flush)
WHOLE(_gfortran_st_wait)
WHOLE(_gfortran_st_wait_async)
WHOLE(_gfortran_flush_i4)
WHOLE(_gfortran_flush_i8)
WHOLE(_gfortran_fget)
WHOLE(_gfortran_fget_i4_sub)
WHOLE(_gfortran_fget_i8_sub)
WHOLE(_gfortran_fgetc)
WHOLE(_gfortran_fgetc_i4_sub)
WHOLE(_gfortran_fgetc_i8_sub)
WHOLE(_gfortran_fput)
WHOLE(_gfortran_fput_i4_sub)
WHOLE(_gfortran_fput_i8_sub)
WHOLE(_gfortran_fputc)
WHOLE(_gfortran_fputc_i4_sub)
WHOLE(_gfortran_fputc_i8_sub)
WHOLE(_gfortran_fseek_sub)
WHOLE(_gfortran_ftell)
WHOLE(_gfortran_ftell_i4_sub)
WHOLE(_gfortran_ftell_i8_sub)
BEGINS(_gfortran_st_read)
BEGINS(_gfortran_st_write)
ENDS(_gfortran_st_read_done)
ENDS(_gfortran_st_write_done)
BOTH_WAYS(_gfortran_transfer_integer, (unsigned)c)
BOTH_WAYS(_gfortran_transfer_logical, (unsigned)c)
BOTH_WAYS(_gfortran_transfer_real, OF_KIND(c))
BOTH_WAYS(_gfortran_transfer_real128, OF_KIND(c))
BOTH_WAYS(_gfortran_transfer_complex, 2 * OF_KIND(c))
BOTH_WAYS(_gfortran_transfer_complex128, 2 * OF_KIND(c))
BOTH_WAYS(_gfortran_transfer_character, c)
BOTH_WAYS(_gfortran_transfer_character_wide, c *(unsigned)d)
BOTH_WAYS(_gfortran_transfer_array, 0)
ITEM(_gfortran_st_set_nml_var_dim, 0, 0)

add_item_fn _gfortran_st_set_nml_var;
FRONT(_gfortran_st_set_nml_var)
void tmf__gfortran_st_set_nml_var(void *statement, void *item, char *name,
                                  int kind, size_t length,
                                  struct item_type type)
{
    struct call call = {
        .add = _gfortran_st_set_nml_var,
        .given = {(word)statement, (word)item, (word)name, (word)kind, length},
        .type = type};

    if (has_unit((word)statement)) {
        make_at_root(&call);
    } else {
        make(&call);
    }
}
