// SPDX-License-Identifier: BSD-3-Clause
//
// Fortran's input and output, as gfortran compiles it: a statement is a call that begins it, one for
// each item of its list, and one that ends it. From the first to the last of them libgfortran
// holds a lock of the unit, by which a second thread would stop the worker that has to go on with the
// first one. So there are mutexes around statements here, by the unit's number; a function in a list may have
// statements of its own, of other units.
//
// Units are the root's, as all files are. A thread of another node has each of these calls
// made there. What is written to or read from a variable (an internal unit) is done where it
// is: nobody else has that unit.
#include "front.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/** Units whose numbers end with the same bits share a mutex; a call that goes through all units has all of them. */
enum { N_MUTEXES = FRONT_UNITS, N_TRIES = 1000, ALL_UNITS = -1 };

static tm_mutex mutexes[N_MUTEXES];

extern __typeof__(usleep) tmf_usleep;

// ---- where and by whom

static unsigned mutex_of(int unit)
{
    return (unsigned)unit % N_MUTEXES;
}

static void begin(int unit)
{
    const unsigned mutex = mutex_of(unit);

    if (front_thread()->n_statements[mutex]++ == 0) {
        front_lock(&mutexes[mutex]);
    }
}

static void end(int unit)
{
    const unsigned mutex = mutex_of(unit);

    if (--front_thread()->n_statements[mutex] == 0) {
        front_unlock(&mutexes[mutex]);
    }
}

static long try_lock(void *mutex)
{
    return tm_mutex_trylock(mutex);
}

// Others have one and want another, in any order: who has some does not wait for more.
static unsigned try_all(void)
{
    unsigned n = 0;

    while (n < N_MUTEXES && FRONT_1(try_lock, &mutexes[n]) == TM_OK) {
        n++;
    }
    return n;
}

static void leave(unsigned n)
{
    while (n > 0) {
        front_unlock(&mutexes[--n]);
    }
}

// If others do not end their statements soon (one may wait for input), it is as it would be natively.
static unsigned begin_all(void)
{
    for (unsigned i = 0; i < N_TRIES; i++) {
        const unsigned n = try_all();

        if (n == N_MUTEXES) {
            return n;
        }
        leave(n);
        tmf_usleep(100);
    }
    return 0;
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

static word make_whole(struct call *call, int unit)
{
    if (unit == ALL_UNITS) {
        const unsigned n = begin_all();

        make_at_root(call);
        leave(n);
    } else {
        begin(unit);
        make_at_root(call);
        end(unit);
    }
    return call->answer;
}

/** A call that is a statement of its own, or none. */
#define WHOLE(name, unit)                                                      \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        return make_whole(&call, unit);                                        \
    }

/** The unit of a statement's parameters, and one that is given by its address: none is all. */
#define OF_STATEMENT ((const int32_t *)a)[1]
#define AT_ADDRESS (a == 0 ? ALL_UNITS : *(const int32_t *)a)

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
        begin(OF_STATEMENT);                                                   \
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
        end(OF_STATEMENT);                                                     \
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

/** Of a whole array, or a part of one. */
struct array {
    void *base;
    size_t offset;
    size_t element_size;
    int32_t version;
    int8_t rank;
    int8_t type;
    int16_t attribute;
    long span;
    struct {
        long step; // in elements
        long first;
        long last;
    } bounds[15];
};

// @return bytes from its first element to its last one, if they lie side by side; 0: there are none
static long extent_of(const struct array *array, int i)
{
    const long extent = array->bounds[i].last - array->bounds[i].first + 1;

    return extent > 0 ? extent : 0;
}

static size_t size_of_array(const struct array *array)
{
    long n = 1;
    int is_whole = 1;

    for (int i = 0; i < array->rank; i++) {
        is_whole &= extent_of(array, i) == 1 || array->bounds[i].step == n;
        n *= extent_of(array, i);
    }
    if (n > 0 && !is_whole) {
        front_fatal(
            "input or output on node %u of a part of an array that only a "
            "thread has (threadprivate): copy it to another one first",
            (unsigned)tm_node_self());
    }
    return (size_t)n * array->element_size;
}

static word make_array(struct call *call, int is_read)
{
    const struct array *given = (const struct array *)call->given[1];
    const size_t rank = (size_t)given->rank;
    struct front_loan loan;
    struct array array;
    size_t size;

    memcpy(&array, given,
           offsetof(struct array, bounds) + rank * sizeof array.bounds[0]);
    call->given[1] = (word)&array;
    if (front_reaches_root(given->base)) {
        return make_at_root(call);
    }
    size = size_of_array(given);
    loan = front_lend(given->base, size);
    array.base = loan.at;
    make_at_root(call);
    end_loan(loan, size, is_read);
    return call->answer;
}

#define ARRAY(name, is_read)                                                   \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        return has_unit(a) ? make_array(&call, is_read) : name(a, b, c, d, e); \
    }

/** An item that a procedure of the program's writes or reads, by statements within this one. */
#define OWN_PROCEDURE(name)                                                    \
    word name(FIVE);                                                           \
    FRONT(name)                                                                \
    word tmf_##name(FIVE)                                                      \
    {                                                                          \
        if (!front_is_on_root()) {                                             \
            front_fatal("input or output of a derived type by a procedure of " \
                        "the program's is for threads of node 0");             \
        }                                                                      \
        return name(a, b, c, d, e);                                            \
    }

#define BOTH_WAYS(name, size) ITEM(name, size, 1) ITEM(name##_write, size, 0)

// Reals of kind 10 have 16 bytes.
#define OF_KIND(kind) ((unsigned)(kind) == 10 ? 16u : (unsigned)(kind))

WHOLE(_gfortran_st_open, OF_STATEMENT)
WHOLE(_gfortran_st_inquire, OF_STATEMENT)
WHOLE(_gfortran_st_close, OF_STATEMENT)
WHOLE(_gfortran_st_rewind, OF_STATEMENT)
WHOLE(_gfortran_st_backspace, OF_STATEMENT)
WHOLE(_gfortran_st_endfile, OF_STATEMENT)
WHOLE(_gfortran_st_flush, OF_STATEMENT)
WHOLE(_gfortran_st_wait, OF_STATEMENT)
WHOLE(_gfortran_st_wait_async, OF_STATEMENT)
WHOLE(_gfortran_flush_i4, AT_ADDRESS)
WHOLE(_gfortran_flush_i8, AT_ADDRESS)
WHOLE(_gfortran_fgetc, AT_ADDRESS)
WHOLE(_gfortran_fputc, AT_ADDRESS)
WHOLE(_gfortran_fseek_sub, AT_ADDRESS)
WHOLE(_gfortran_ftell, AT_ADDRESS)
WHOLE(_gfortran_fnum_i4, AT_ADDRESS)
WHOLE(_gfortran_fnum_i8, AT_ADDRESS)
WHOLE(_gfortran_isatty_l4, AT_ADDRESS)
WHOLE(_gfortran_isatty_l8, AT_ADDRESS)
WHOLE(_gfortran_fstat_i4, AT_ADDRESS)
WHOLE(_gfortran_fstat_i8, AT_ADDRESS)
WHOLE(_gfortran_fstat_i4_sub, AT_ADDRESS)
WHOLE(_gfortran_fstat_i8_sub, AT_ADDRESS)
WHOLE(_gfortran_fgetc_i1_sub, AT_ADDRESS)
WHOLE(_gfortran_fgetc_i2_sub, AT_ADDRESS)
WHOLE(_gfortran_fgetc_i4_sub, AT_ADDRESS)
WHOLE(_gfortran_fgetc_i8_sub, AT_ADDRESS)
WHOLE(_gfortran_fputc_i1_sub, AT_ADDRESS)
WHOLE(_gfortran_fputc_i2_sub, AT_ADDRESS)
WHOLE(_gfortran_fputc_i4_sub, AT_ADDRESS)
WHOLE(_gfortran_fputc_i8_sub, AT_ADDRESS)
WHOLE(_gfortran_ftell_i1_sub, AT_ADDRESS)
WHOLE(_gfortran_ftell_i2_sub, AT_ADDRESS)
WHOLE(_gfortran_ftell_i4_sub, AT_ADDRESS)
WHOLE(_gfortran_ftell_i8_sub, AT_ADDRESS)
WHOLE(_gfortran_fget, 5)
WHOLE(_gfortran_fput, 6)
WHOLE(_gfortran_fget_i1_sub, 5)
WHOLE(_gfortran_fget_i2_sub, 5)
WHOLE(_gfortran_fget_i4_sub, 5)
WHOLE(_gfortran_fget_i8_sub, 5)
WHOLE(_gfortran_fput_i1_sub, 6)
WHOLE(_gfortran_fput_i2_sub, 6)
WHOLE(_gfortran_fput_i4_sub, 6)
WHOLE(_gfortran_fput_i8_sub, 6)
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
ARRAY(_gfortran_transfer_array, 1)
ARRAY(_gfortran_transfer_array_write, 0)
OWN_PROCEDURE(_gfortran_transfer_derived)
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

    if (!has_unit((word)statement)) {
        make(&call);
        return;
    }
    if (!front_reaches_root(item)) {
        front_fatal(
            "a namelist has a variable that only a thread has (threadprivate): "
            "only node 0 can write or read that");
    }
    make_at_root(&call);
}

// ---- the end of the program: as of C's exit(), so that the root closes its units

static long say(const char *what, const char *text, size_t length)
{
    fprintf(stderr, "%s%.*s\n", what, (int)length, text);
    return 0;
}

static void stop(const char *what, int status, int is_quiet)
{
    char number[16];

    snprintf(number, sizeof number, "%d", status);
    if (!is_quiet) {
        FRONT_3(say, what, number, strlen(number));
    }
    front_exit(status);
}

static void stop_with(const char *what, int status, const char *text,
                      size_t length, int is_quiet)
{
    if (!is_quiet && text != NULL) {
        FRONT_3(say, what, text, length);
    }
    front_exit(status);
}

void _gfortran_stop_numeric(int status, bool is_quiet);
FRONT(_gfortran_stop_numeric)
void tmf__gfortran_stop_numeric(int status, bool is_quiet)
{
    stop("STOP ", status, is_quiet);
}

void _gfortran_error_stop_numeric(int status, bool is_quiet);
FRONT(_gfortran_error_stop_numeric)
void tmf__gfortran_error_stop_numeric(int status, bool is_quiet)
{
    stop("ERROR STOP ", status, is_quiet);
}

void _gfortran_stop_string(const char *text, size_t length, bool is_quiet);
FRONT(_gfortran_stop_string)
void tmf__gfortran_stop_string(const char *text, size_t length, bool is_quiet)
{
    stop_with("STOP ", 0, text, length, is_quiet);
}

void _gfortran_error_stop_string(const char *text, size_t length,
                                 bool is_quiet);
FRONT(_gfortran_error_stop_string)
void tmf__gfortran_error_stop_string(const char *text, size_t length,
                                     bool is_quiet)
{
    stop_with("ERROR STOP ", 1, text, length, is_quiet);
}

void _gfortran_exit_i4(const int *status);
FRONT(_gfortran_exit_i4)
void tmf__gfortran_exit_i4(const int *status)
{
    front_exit(status == NULL ? 0 : *status);
}

void _gfortran_exit_i8(const int64_t *status);
FRONT(_gfortran_exit_i8)
void tmf__gfortran_exit_i8(const int64_t *status)
{
    front_exit(status == NULL ? 0 : (int)*status);
}
