// SPDX-License-Identifier: BSD-3-Clause
#include "cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// @param[out] result  [1000] what becomes of the text
// @return as cc_call_for_updates()
static int change(const char *text, char *result)
{
    char from[] = "/tmp/cc_updates_test-XXXXXX";
    char to[] = "/tmp/cc_updates_test-XXXXXX";
    FILE *file = fdopen(mkstemp(from), "w");
    int status;

    fputs(text, file);
    fclose(file);
    close(mkstemp(to));
    status = cc_call_for_updates(from, to);
    file = fopen(to, "r");
    result[fread(result, 1, 999, file)] = '\0';
    fclose(file);
    unlink(from);
    unlink(to);
    return status;
}

static void assert_becomes(const char *text, const char *wanted)
{
    char result[1000];

    assert_int_equal(change(text, result), 0);
    assert_string_equal(result, wanted);
}

static void assert_not_known(const char *text)
{
    char result[1000];

    assert_int_equal(change(text, result), -1);
}

static void other_lines_stay(void **state)
{
    static const char text[] =
        "f:\n\tmovq\tlock(%rip), %rax\n\txchgl\t%eax, %edx\n"
        "\t.string\t\"lock\"\n\taddq\t%rax, (%rcx)\n"
        "\tlock addq\t$1, %fs:x@tpoff\n\tret\n";

    char whole[1000];
    char result[1000];

    (void)state;
    snprintf(whole, sizeof whole, "\tlock addq\t$1, (%%rdi)\n%s", text);
    assert_int_equal(change(whole, result), 0);
    assert_string_equal(result + strlen(result) - strlen(text), text);
}

static void a_source_is_pushed_whole(void **state)
{
    (void)state;
    assert_becomes("\tlock addl\t%r9d, (%rcx)\n",
                   "\tpushq\t%r11\n\tpushq\t%r9\n\tleaq\t(%rcx), %r11\n"
                   "\tcall\tfront_locked_addl\n"
                   "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
    assert_becomes("\tlock andb\t$-2, x+8(%rip)\n",
                   "\tpushq\t%r11\n\tpushq\t$-2\n\tleaq\tx+8(%rip), %r11\n"
                   "\tcall\tfront_locked_andb\n"
                   "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
    assert_becomes(
        "\tlock cmpxchgw\t%si, -4(%r13,%rdx,2)\n",
        "\tpushq\t%r11\n\tpushq\t%rsi\n\tleaq\t-4(%r13,%rdx,2), %r11\n"
        "\tcall\tfront_locked_cmpxchgw\n"
        "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
    assert_becomes("\tlock incq\t(%rdi)\n",
                   "\tpushq\t%r11\n\tpushq\t$1\n\tleaq\t(%rdi), %r11\n"
                   "\tcall\tfront_locked_addq\n"
                   "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
    assert_becomes("\tlock decb\t(%rdi)\n",
                   "\tpushq\t%r11\n\tpushq\t$1\n\tleaq\t(%rdi), %r11\n"
                   "\tcall\tfront_locked_subb\n"
                   "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
}

static void a_place_on_the_stack_is_beyond_what_is_pushed(void **state)
{
    (void)state;
    assert_becomes("\tlock orq\t%rax, 8(%rsp)\n",
                   "\tpushq\t%r11\n\tpushq\t%rax\n\tleaq\t16+8(%rsp), %r11\n"
                   "\tcall\tfront_locked_orq\n"
                   "\tleaq\t8(%rsp), %rsp\n\tpopq\t%r11\n");
}

static void a_source_that_changes_is_taken_back(void **state)
{
    (void)state;
    assert_becomes("\tlock xaddq\t%rax, (%rcx)\n",
                   "\tpushq\t%r11\n\tpushq\t%rax\n\tleaq\t(%rcx), %r11\n"
                   "\tcall\tfront_locked_xaddq\n\tpopq\t%rax\n\tpopq\t%r11\n");
    assert_becomes("\txchgl\tx(%rip), %r11d\n",
                   "\tpushq\t%r11\n\tpushq\t%r11\n\tleaq\tx(%rip), %r11\n"
                   "\tcall\tfront_locked_xchgl\n"
                   "\tpopq\t%r11\n\tleaq\t8(%rsp), %rsp\n");
    assert_becomes("\txchgb\t%dl, (%rax)\n",
                   "\tpushq\t%r11\n\tpushq\t%rdx\n\tleaq\t(%rax), %r11\n"
                   "\tcall\tfront_locked_xchgb\n\tpopq\t%rdx\n\tpopq\t%r11\n");
}

static void a_fence_is_called(void **state)
{
    (void)state;
    assert_becomes("\tlock orq\t$0, (%rsp)\n\tmfence\n",
                   "\tcall\tfront_locked_fence\n\tcall\tfront_locked_fence\n");
}

static void what_is_not_known_is_told(void **state)
{
    (void)state;
    assert_not_known("\tlock cmpxchg16b\t(%rdi)\n");
    assert_not_known("\tlock btsq\t$3, (%rdi)\n");
    assert_not_known("\tlock addb\t%ah, (%rdi)\n");
    assert_not_known("\tlock add\tQWORD PTR [rax], 1\n");
    assert_not_known("\tlock addq\t$4294967296, (%rdi)\n");
    assert_not_known("\tlock addq\t$x, (%rdi)\n");
    assert_not_known("\tlock addq\t$1, 4096\n");
    assert_not_known("\tlock addq\t$1, (%rdi)\t#, *x\n");
    assert_not_known("\txchg\tedx, DWORD PTR x[rip]\n");
    assert_not_known("\tmfence\t\n");
    assert_not_known("\tmfence\t# 7\n");
    assert_not_known("\tret\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_lines_stay),
        cmocka_unit_test(a_source_is_pushed_whole),
        cmocka_unit_test(a_place_on_the_stack_is_beyond_what_is_pushed),
        cmocka_unit_test(a_source_that_changes_is_taken_back),
        cmocka_unit_test(a_fence_is_called),
        cmocka_unit_test(what_is_not_known_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
