// SPDX-License-Identifier: BSD-3-Clause
//
// new and delete, for the C++ library's own use too. All are weak and alone in this file: a
// program's own go first, each, and those of arrays and sizes call the plain ones, as the
// C++ library's do. Where there is no memory the program's handler is called, then
// std::bad_alloc is thrown; it passes through here by the compiler's tables.
#include "front.h"

#define WEAK(name) NAMED(name) __attribute__((weak))

extern void throw_no_memory(void) __asm__("_ZSt17__throw_bad_allocv")
    __attribute__((weak));

typedef void handler(void);

static TM_SHARED handler *program_handler;

handler *set_handler(handler *to) WEAK("tmf__ZSt15set_new_handlerPFvvE");
handler *set_handler(handler *to)
{
    handler *before = program_handler;

    program_handler = to;
    return before;
}

handler *get_handler(void) WEAK("tmf__ZSt15get_new_handlerv");
handler *get_handler(void)
{
    return program_handler;
}

static void *new_or_throw(size_t size, size_t alignment)
{
    void *block = front_new_block(size, alignment);

    while (block == NULL) {
        handler *handle = front_is_program() ? program_handler : NULL;

        if (handle != NULL) {
            handle();
            block = front_new_block(size, alignment);
        } else if (throw_no_memory != NULL) {
            throw_no_memory();
        } else {
            front_fatal("no memory for new of %zu bytes", size);
        }
    }
    return block;
}

void *new_object(size_t size) WEAK("_Znwm");
void *new_object(size_t size)
{
    return new_or_throw(size, 16);
}

void *new_array(size_t size) WEAK("_Znam");
void *new_array(size_t size)
{
    return new_object(size);
}

void *new_aligned(size_t size, size_t alignment) WEAK("_ZnwmSt11align_val_t");
void *new_aligned(size_t size, size_t alignment)
{
    return new_or_throw(size, alignment);
}

void *new_aligned_array(size_t size, size_t alignment)
    WEAK("_ZnamSt11align_val_t");
void *new_aligned_array(size_t size, size_t alignment)
{
    return new_aligned(size, alignment);
}

void delete_object(void *block) WEAK("_ZdlPv");
void delete_object(void *block)
{
    front_free(block);
}

void delete_array(void *block) WEAK("_ZdaPv");
void delete_array(void *block)
{
    delete_object(block);
}

void delete_aligned(void *block, size_t alignment)
    WEAK("_ZdlPvSt11align_val_t");
void delete_aligned(void *block, size_t alignment)
{
    (void)alignment;
    front_free(block);
}

void delete_aligned_array(void *block, size_t alignment)
    WEAK("_ZdaPvSt11align_val_t");
void delete_aligned_array(void *block, size_t alignment)
{
    delete_aligned(block, alignment);
}

#define SIZED(c_name, name)                                                    \
    void c_name##_sized(void *block, size_t size) WEAK(name "Pvm");            \
    void c_name##_sized(void *block, size_t size)                              \
    {                                                                          \
        (void)size;                                                            \
        c_name(block);                                                         \
    }

#define SIZED_ALIGNED(c_name, name)                                            \
    void c_name##_sized(void *block, size_t size, size_t alignment)            \
        WEAK(name "PvmSt11align_val_t");                                       \
    void c_name##_sized(void *block, size_t size, size_t alignment)            \
    {                                                                          \
        (void)size;                                                            \
        c_name(block, alignment);                                              \
    }

SIZED(delete_object, "_Zdl")
SIZED(delete_array, "_Zda")
SIZED_ALIGNED(delete_aligned, "_Zdl")
SIZED_ALIGNED(delete_aligned_array, "_Zda")
