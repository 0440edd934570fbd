// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_ON_ROOT_H
#define FRONTEND_ON_ROOT_H

#include <alloca.h>
#include <string.h>

#include "front.h"

/*
 * Files, streams and what else belongs to one process: done on the root, whatever node calls.
 * So a FILE * or a descriptor means the same for all threads, and lines come out in the order
 * in which they were printed.
 *
 * Arguments lie on the caller's program stack, which is shared. On the root they are used on
 * a private stack: names are copied, since the kernel reads them; buffers are handed on to the
 * library's functions of the same name, which expect shared ones; structures that the kernel
 * fills are filled in private memory.
 */

/** A copy of a name on the private stack; what is too long is for the kernel to refuse. */
#define NAME(text)                                                             \
    ((text) == NULL ? NULL : strcpy(alloca(strlen(text) + 1), (text)))

/** Or of n values. */
#define VALUES(values, n)                                                      \
    ((values) == NULL ? NULL                                                   \
                      : memcpy(alloca((n) * sizeof *(values)), (values),       \
                               (n) * sizeof *(values)))

/** Texts that a call is given, other arguments being left alone. */
#define LEND(x)                                                                \
    _Generic((x),                                                              \
        const char *: front_lend_text((const char *)(uintptr_t)(x)),           \
        default: (x))
#define END_LOAN(own, lent)                                                    \
    _Generic((own),                                                            \
        const char *: front_end_text((const char *)(uintptr_t)(own),           \
                                     (const char *)(uintptr_t)(lent)),         \
        default: (void)0)

/* What is written for each of n parameters, which are called a to e: its type, what the
 * function is given for it on the root, and its name. LIST_n() has commas between them. */
#define EACH_0(what, none)
#define EACH_1(what, A, for_a) what(A, for_a, a)
#define EACH_2(what, A, for_a, B, for_b)                                       \
    EACH_1(what, A, for_a) what(B, for_b, b)
#define EACH_3(what, A, for_a, B, for_b, C, for_c)                             \
    EACH_2(what, A, for_a, B, for_b) what(C, for_c, c)
#define EACH_4(what, A, for_a, B, for_b, C, for_c, D, for_d)                   \
    EACH_3(what, A, for_a, B, for_b, C, for_c) what(D, for_d, d)
#define EACH_5(what, A, for_a, B, for_b, C, for_c, D, for_d, E, for_e)         \
    EACH_4(what, A, for_a, B, for_b, C, for_c, D, for_d) what(E, for_e, e)

#define LIST_0(what, none) what##_OF_NONE
#define LIST_1(what, A, for_a) what(A, for_a, a)
#define LIST_2(what, A, for_a, B, for_b)                                       \
    LIST_1(what, A, for_a), what(B, for_b, b)
#define LIST_3(what, A, for_a, B, for_b, C, for_c)                             \
    LIST_2(what, A, for_a, B, for_b), what(C, for_c, c)
#define LIST_4(what, A, for_a, B, for_b, C, for_c, D, for_d)                   \
    LIST_3(what, A, for_a, B, for_b, C, for_c), what(D, for_d, d)
#define LIST_5(what, A, for_a, B, for_b, C, for_c, D, for_d, E, for_e)         \
    LIST_4(what, A, for_a, B, for_b, C, for_c, D, for_d), what(E, for_e, e)

#define TO_FIELD(type, given, name) type name;
#define TO_COPY(type, given, name) type name = call->name;
#define TO_LOAN(type, given, name) .name = LEND(name),
#define TO_END(type, given, name) END_LOAN(name, call.name);
#define TO_PARAMETER(type, given, name) type name
#define TO_PARAMETER_OF_NONE void
#define TO_GIVEN(type, given, name) given
#define TO_GIVEN_OF_NONE
#define TO_NAME(type, given, name) name
#define TO_NAME_OF_NONE

/** Make NAME_at_root(), which calls a function of up to n parameters there. The kernel looks
 * at none of what it is given but copies.
 * @param ...  for each parameter its type, and what is given for it: a, or NAME(a) */
#define ON_ROOT(n, type, name, ...)                                            \
    struct name##_call {                                                       \
        type result;                                                           \
        EACH_##n(TO_FIELD, __VA_ARGS__)                                        \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        EACH_##n(TO_COPY, __VA_ARGS__) call->result =                          \
            name(LIST_##n(TO_GIVEN, __VA_ARGS__));                             \
        return 0;                                                              \
    }                                                                          \
    static type name##_at_root(LIST_##n(TO_PARAMETER, __VA_ARGS__))            \
    {                                                                          \
        struct name##_call call = {EACH_##n(TO_LOAN, __VA_ARGS__).result = 0}; \
                                                                               \
        front_at_root(do_##name, &call);                                       \
        EACH_##n(TO_END, __VA_ARGS__) return call.result;                      \
    }

/** The same, and a function that takes the place of NAME. */
#define FRONT_CALL(n, type, name, ...)                                         \
    ON_ROOT(n, type, name, __VA_ARGS__)                                        \
    FRONT(name)                                                                \
    type tmf_##name(LIST_##n(TO_PARAMETER, __VA_ARGS__))                       \
    {                                                                          \
        return name##_at_root(LIST_##n(TO_NAME, __VA_ARGS__));                 \
    }

/** Of no parameters. */
#define FRONT_CALL_0(type, name) FRONT_CALL(0, type, name, )

/** Of one, which answers nothing. */
#define FRONT_VOID_1(name, A)                                                  \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        name(*(A *)arguments);                                                 \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    void tmf_##name(A a)                                                       \
    {                                                                          \
        A own = a;                                                             \
        front_at_root(do_##name, &own);                                        \
    }

/** A function with arguments that are not named, which are `list` in the call. */
#define WITH_LIST(name, parameters, last, call)                                \
    int tmf_##name parameters __attribute__((weak));                           \
    int tmf_##name parameters                                                  \
    {                                                                          \
        va_list list;                                                          \
        int n;                                                                 \
                                                                               \
        va_start(list, last);                                                  \
        n = call;                                                              \
        va_end(list);                                                          \
        return n;                                                              \
    }

/** A name that the C library's headers put in place of another (_FORTIFY_SOURCE). */
#define CHECKED(type, name, parameters, size, room, call)                      \
    type tmf_##name parameters __attribute__((weak));                          \
    type tmf_##name parameters                                                 \
    {                                                                          \
        if ((size_t)(size) > (room)) {                                         \
            front_fatal("%s(): %zu bytes for a buffer of %zu", #name,          \
                        (size_t)(size), (size_t)(room));                       \
        }                                                                      \
        return call;                                                           \
    }

#endif
