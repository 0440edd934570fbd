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
enum { N_TRIES = 1000, ALL_UNITS = -1 };

static tm_mutex mutexes[FRONT_UNITS];

extern __typeof__(usleep) tmf_usleep;

// ---- where and by whom

static unsigned mutex_of(int unit)
{
    return (unsigned)unit % FRONT_UNITS;
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

// Others have one and want another, in any order: who has some does not wait for more.
static unsigned try_all(void)
{
    unsigned n = 0;

    while (n < FRONT_UNITS && front_try_lock(&mutexes[n]) == TM_OK) {
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

        if (n == FRONT_UNITS) {
            return n;
        }
        leave(n);
        tmf_usleep(100);
    }
    return 0;
}

static int has_unit(const struct call *call)
{
    return (*(const int32_t *)call->given[0] & OF_NO_UNIT) == 0;
}

/** Of a statement's parameters. */
static int unit_of(const struct call *call)
{
    return ((const int32_t *)call->given[0])[1];
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

static word make_here(struct call *call)
{
    make(call);
    return call->answer;
}

// ---- calls

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

// The unit is given by its address: none is all.
static word make_by_address(struct call *call)
{
    return make_whole(call, call->given[0] == 0
                                ? ALL_UNITS
                                : *(const int32_t *)call->given[0]);
}

static word make_first(struct call *call)
{
    if (!has_unit(call)) {
        return make_here(call);
    }
    begin(unit_of(call));
    return make_at_root(call);
}

static word make_last(struct call *call)
{
    if (!has_unit(call)) {
        return make_here(call);
    }
    make_at_root(call);
    end(unit_of(call));
    return call->answer;
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

// Bytes that may be in memory of the caller's node alone. @param at  where the call has their address
static word make_with(struct call *call, void **at, size_t size, int is_read)
{
    const struct front_loan loan = front_lend(*at, size);

    *at = loan.at;
    make_at_root(call);
    end_loan(loan, size, is_read);
    return call->answer;
}

static word make_item(struct call *call, size_t size, int is_read)
{
    return has_unit(call)
               ? make_with(call, (void **)&call->given[1], size, is_read)
               : make_here(call);
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

static long extent_of(const struct array *array, int i)
{
    const long extent = array->bounds[i].last - array->bounds[i].first + 1;

    return extent > 0 ? extent : 0;
}

// @return bytes from its first element to its last one, if they lie side by side; 0: there are none
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

// Its description may be in such memory, too.
static word make_array(struct call *call, int is_read)
{
    const struct array *given = (const struct array *)call->given[1];
    struct array array;

    if (!has_unit(call)) {
        return make_here(call);
    }
    memcpy(&array, given,
           offsetof(struct array, bounds) +
               (size_t)given->rank * sizeof array.bounds[0]);
    call->given[1] = (word)&array;
    return front_reaches_root(array.base)
               ? make_at_root(call)
               : make_with(call, &array.base, size_of_array(&array), is_read);
}

// A procedure of the program's writes or reads it, by statements within this one.
static word make_derived(struct call *call)
{
    if (!front_is_on_root()) {
        front_fatal("input or output of a derived type by a procedure of "
                    "the program's is for threads of node 0");
    }
    return make_here(call);
}

/** A function that takes the place of libgfortran's: `make`, of the call. */
#define CALL(name, make)                                                       \
    function_of_words name;                                                    \
    FRONT(name)                                                                \
    word tmf_##name(word a, word b, word c, word d, word e)                    \
    {                                                                          \
        struct call call = {.function = name, .given = {a, b, c, d, e}};       \
                                                                               \
        return make;                                                           \
    }

/** A statement of its own. */
#define WHOLE(name) CALL(name, make_whole(&call, unit_of(&call)))
#define OF_UNIT(name, unit) CALL(name, make_whole(&call, unit))
#define BY_ADDRESS(name) CALL(name, make_by_address(&call))

/** An item of so many bytes, or an array. */
#define ITEM(name, size)                                                       \
    CALL(name, make_item(&call, size, 1))                                      \
    CALL(name##_write, make_item(&call, size, 0))
#define ARRAY(name)                                                            \
    CALL(name, make_array(&call, 1))                                           \
    CALL(name##_write, make_array(&call, 0))

// Reals of kind 10 have 16 bytes.
#define OF_KIND(kind) ((unsigned)(kind) == 10 ? 16u : (unsigned)(kind))

WHOLE(_gfortran_st_open)
WHOLE(_gfortran_st_inquire)
WHOLE(_gfortran_st_close)
WHOLE(_gfortran_st_rewind)
WHOLE(_gfortran_st_backspace)
WHOLE(_gfortran_st_endfile)
WHOLE(_gfortran_st_flush)
WHOLE(_gfortran_st_wait)
WHOLE(_gfortran_st_wait_async)
BY_ADDRESS(_gfortran_flush_i4)
BY_ADDRESS(_gfortran_flush_i8)
BY_ADDRESS(_gfortran_fgetc)
BY_ADDRESS(_gfortran_fputc)
BY_ADDRESS(_gfortran_fseek_sub)
BY_ADDRESS(_gfortran_ftell)
BY_ADDRESS(_gfortran_fnum_i4)
BY_ADDRESS(_gfortran_fnum_i8)
BY_ADDRESS(_gfortran_isatty_l4)
BY_ADDRESS(_gfortran_isatty_l8)
BY_ADDRESS(_gfortran_fstat_i4)
BY_ADDRESS(_gfortran_fstat_i8)
BY_ADDRESS(_gfortran_fstat_i4_sub)
BY_ADDRESS(_gfortran_fstat_i8_sub)
BY_ADDRESS(_gfortran_fgetc_i1_sub)
BY_ADDRESS(_gfortran_fgetc_i2_sub)
BY_ADDRESS(_gfortran_fgetc_i4_sub)
BY_ADDRESS(_gfortran_fgetc_i8_sub)
BY_ADDRESS(_gfortran_fputc_i1_sub)
BY_ADDRESS(_gfortran_fputc_i2_sub)
BY_ADDRESS(_gfortran_fputc_i4_sub)
BY_ADDRESS(_gfortran_fputc_i8_sub)
BY_ADDRESS(_gfortran_ftell_i1_sub)
BY_ADDRESS(_gfortran_ftell_i2_sub)
BY_ADDRESS(_gfortran_ftell_i4_sub)
BY_ADDRESS(_gfortran_ftell_i8_sub)
OF_UNIT(_gfortran_fget, 5)
OF_UNIT(_gfortran_fput, 6)
OF_UNIT(_gfortran_fget_i1_sub, 5)
OF_UNIT(_gfortran_fget_i2_sub, 5)
OF_UNIT(_gfortran_fget_i4_sub, 5)
OF_UNIT(_gfortran_fget_i8_sub, 5)
OF_UNIT(_gfortran_fput_i1_sub, 6)
OF_UNIT(_gfortran_fput_i2_sub, 6)
OF_UNIT(_gfortran_fput_i4_sub, 6)
OF_UNIT(_gfortran_fput_i8_sub, 6)
CALL(_gfortran_st_read, make_first(&call))
CALL(_gfortran_st_write, make_first(&call))
CALL(_gfortran_st_read_done, make_last(&call))
CALL(_gfortran_st_write_done, make_last(&call))
ITEM(_gfortran_transfer_integer, (unsigned)c)
ITEM(_gfortran_transfer_logical, (unsigned)c)
ITEM(_gfortran_transfer_real, OF_KIND(c))
ITEM(_gfortran_transfer_real128, OF_KIND(c))
ITEM(_gfortran_transfer_complex, 2 * OF_KIND(c))
ITEM(_gfortran_transfer_complex128, 2 * OF_KIND(c))
ITEM(_gfortran_transfer_character, c)
ITEM(_gfortran_transfer_character_wide, c *(unsigned)d)
ARRAY(_gfortran_transfer_array)
CALL(_gfortran_transfer_derived, make_derived(&call))
CALL(_gfortran_st_set_nml_var_dim, make_at_root(&call))

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

    if (!has_unit(&call)) {
        make_here(&call);
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

static void stop(const char *what, int status, const char *text, size_t length,
                 int is_quiet)
{
    if (!is_quiet && text != NULL) {
        FRONT_3(say, what, text, length);
    }
    front_exit(status);
}

static void stop_with_number(const char *what, int status, int is_quiet)
{
    char number[16];
    const int length = snprintf(number, sizeof number, "%d", status);

    stop(what, status, number, (size_t)length, is_quiet);
}

void _gfortran_stop_numeric(int status, bool is_quiet);
FRONT(_gfortran_stop_numeric)
void tmf__gfortran_stop_numeric(int status, bool is_quiet)
{
    stop_with_number("STOP ", status, is_quiet);
}

void _gfortran_error_stop_numeric(int status, bool is_quiet);
FRONT(_gfortran_error_stop_numeric)
void tmf__gfortran_error_stop_numeric(int status, bool is_quiet)
{
    stop_with_number("ERROR STOP ", status, is_quiet);
}

void _gfortran_stop_string(const char *text, size_t length, bool is_quiet);
FRONT(_gfortran_stop_string)
void tmf__gfortran_stop_string(const char *text, size_t length, bool is_quiet)
{
    stop("STOP ", 0, text, length, is_quiet);
}

void _gfortran_error_stop_string(const char *text, size_t length,
                                 bool is_quiet);
FRONT(_gfortran_error_stop_string)
void tmf__gfortran_error_stop_string(const char *text, size_t length,
                                     bool is_quiet)
{
    stop("ERROR STOP ", 1, text, length, is_quiet);
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
