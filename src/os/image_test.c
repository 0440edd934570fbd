// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/image.h"

static const char as_child[] = "--print-layout";
static const char *program;

int main(int argc, char **argv);

// What the child of the tests below does: restart without randomisation, then
// print where things are.
static int print_layout(char **argv)
{
    char text[8192];
    uint64_t hash;

    if (!image_is_fixed()) {
        image_reexec_fixed(argv);
        return 77;
    }
    if (image_layout(&hash, text, sizeof text) != TM_OK) {
        return 1;
    }
    printf("%s %llx\n%s", argv[2], (unsigned long long)hash, text);
    return 0;
}

// @return its exit code
static int run_child(char *output, size_t size)
{
    char command[4200];
    FILE *pipe;
    size_t n;

    snprintf(command, sizeof command, "exec '%s' %s argument", program,
             as_child);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    n = fread(output, 1, size - 1, pipe);
    output[n] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void the_layout_is_the_same_without_randomisation(void **state)
{
    char first[8192];
    char second[8192];

    (void)state;
    if (run_child(first, sizeof first) == 77) {
        print_message("randomisation cannot be turned off here\n");
        skip();
    }
    assert_int_equal(run_child(second, sizeof second), 0);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "argument "));
    assert_non_null(strstr(first, " program\n"));
    assert_non_null(strstr(first, " libc.so.6\n"));
    assert_null(strstr(first, "vdso"));
}

static void the_text_of_a_layout_has_whole_lines_only(void **state)
{
    char whole[8192];
    char part[8192];
    uint64_t hash;
    uint64_t same;

    (void)state;
    assert_int_equal(image_layout(&hash, whole, sizeof whole), TM_OK);
    assert_int_equal(image_layout(&same, NULL, 0), TM_OK);
    assert_int_equal(hash, same);
    for (size_t size = 1; size <= strlen(whole) + 1; size += 7) {
        memset(part, 'x', sizeof part);
        assert_int_equal(image_layout(&same, part, size), TM_OK);
        assert_int_equal(hash, same);
        assert_true(strlen(part) < size);
        assert_int_equal(strncmp(part, whole, strlen(part)), 0);
        assert_true(part[0] == '\0' || part[strlen(part) - 1] == '\n');
        assert_int_equal(part[size], 'x');
    }
}

static void a_program_has_a_build_id(void **state)
{
    char id[64];
    char again[64];

    (void)state;
    memset(id, 0x7f, sizeof id);
    assert_int_equal(image_build_id(id), TM_OK);
    assert_int_equal(image_build_id(again), TM_OK);
    assert_string_equal(id, again);
    assert_in_range(strlen(id), 16, 63);
    for (const char *c = id[0] == 'h' ? id + 1 : id; *c != '\0'; c++) {
        assert_true(isxdigit((unsigned char)*c));
    }
}

static void text_of_program_and_libraries_is_told_apart(void **state)
{
    uintptr_t in_library = (uintptr_t)dlsym(RTLD_DEFAULT, "strtol");
    int local;

    (void)state;
    assert_true(image_is_program_text((uintptr_t)print_layout));
    assert_false(image_is_program_text(in_library));
    assert_false(image_is_program_text((uintptr_t)&local));
    assert_false(image_is_program_text((uintptr_t)as_child));
    assert_false(image_is_program_text(0));
}

static void an_address_is_described_by_function_and_line(void **state)
{
    char text[256];
    char small[8];

    (void)state;
    image_describe((uintptr_t)print_layout, text, sizeof text);
    if (strncmp(text, "print_layout (image_test.c:", 27) != 0) {
        assert_non_null(strstr(text, "+0x")); // no addr2line here
    }
    image_describe((uintptr_t)dlsym(RTLD_DEFAULT, "strtol"), text, sizeof text);
    assert_true(strstr(text, "lib") != NULL || strstr(text, "strto") != NULL);
    image_describe(0x10, text, sizeof text);
    assert_string_equal(text, "0x10");
    memset(small, 'x', sizeof small);
    image_describe((uintptr_t)print_layout, small, 4);
    assert_true(strlen(small) < 4);
    assert_int_equal(small[4], 'x');
}

// The frame that sets it must not be protected itself.
__attribute__((no_stack_protector)) static void the_canary_can_be_replaced(
    void **state)
{
    uint64_t before = image_canary();
    uint64_t during;

    (void)state;
    image_set_canary(0x1234567890abcd00);
    during = image_canary();
    image_set_canary(before);
    assert_int_equal(during, 0x1234567890abcd00);
    assert_int_equal(before & 0xff, 0); // glibc's have a zero byte first
}

static int setup(void **state)
{
    (void)state;
    return image_init() != TM_OK;
}

static void a_variable_is_found_by_its_address(void **state)
{
    const uintptr_t address = (uintptr_t)&program;
    uintptr_t found;
    size_t size;
    char name[32];
    char start[4];
    size_t offset;
    size_t rest;

    (void)state;
    assert_int_equal(
        image_variable(address + 3, name, sizeof name, &offset, &rest), TM_OK);
    assert_string_equal(name, "program");
    assert_int_equal(offset, 3);
    assert_int_equal(rest, sizeof program - 3);
    assert_int_equal(
        image_variable(address, start, sizeof start, &offset, &rest), TM_OK);
    assert_string_equal(start, "pro");
    assert_int_equal(image_variable_named("program", &found, &size), TM_OK);
    assert_int_equal(found, address);
    assert_int_equal(size, sizeof program);
    assert_int_equal(image_variable_named("progra", &found, &size),
                     TM_ENOBLOCK);
    assert_int_equal(image_variable_named("main", &found, &size), TM_ENOBLOCK);
    assert_int_equal(
        image_variable((uintptr_t)main, name, sizeof name, &offset, &rest),
        TM_ENOBLOCK); // it is no variable
    assert_int_equal(
        image_variable((uintptr_t)name, name, sizeof name, &offset, &rest),
        TM_ENOBLOCK); // nor of the program
}

__attribute__((section("image_test"))) int in_a_section = 1;

static void a_section_is_found_wherever_it_is(void **state)
{
    char object[64] = "";

    (void)state;
    assert_false(image_has_section("no_such", NULL, object, sizeof object));
    assert_false(
        image_has_section("image_test", &in_a_section, object, sizeof object));
    assert_string_equal(object, "");
    assert_true(image_has_section("image_test", NULL, object, sizeof object));
    assert_string_equal(object, "the program");
    // Of the C library, since the program's is where one may be.
    assert_true(
        image_has_section(".gnu.version_d", NULL, object, sizeof object));
    assert_non_null(strstr(object, ".so"));
}

static int filled = 5;
static int empty;

// With AddressSanitizer also what lies between variables is copied.
static void a_copy_tells_what_is_as_it_was(void **state)
{
    struct image_copy *copy = image_copy_new(NULL, 0);
    int local = 5;

    (void)state;
    assert_int_equal(image_part((uintptr_t)&filled), IMAGE_VARIABLE);
    assert_int_equal(image_part((uintptr_t)main), IMAGE_FIXED);
    assert_int_equal(image_part((uintptr_t)&local), IMAGE_NOT);
    assert_true(image_copy_is_constant(copy, (char *)&filled, sizeof filled));
    assert_false(image_copy_is_constant(copy, (char *)&empty, sizeof empty));
    assert_false(image_copy_is_constant(copy, (char *)&local, sizeof local));
    filled++;
    assert_false(image_copy_is_constant(copy, (char *)&filled, sizeof filled));
    empty = local;
    assert_false(image_copy_is_constant(copy, (char *)&empty, sizeof empty));
    image_copy_free(copy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_the_same_without_randomisation),
        cmocka_unit_test(the_text_of_a_layout_has_whole_lines_only),
        cmocka_unit_test(a_program_has_a_build_id),
        cmocka_unit_test(text_of_program_and_libraries_is_told_apart),
        cmocka_unit_test(an_address_is_described_by_function_and_line),
        cmocka_unit_test(a_variable_is_found_by_its_address),
        cmocka_unit_test(a_copy_tells_what_is_as_it_was),
        cmocka_unit_test(a_section_is_found_wherever_it_is),
        cmocka_unit_test(the_canary_can_be_replaced),
    };

    if (argc == 3 && strcmp(argv[1], as_child) == 0) {
        return print_layout(argv);
    }
    program = argv[0];
    return cmocka_run_group_tests(tests, setup, NULL);
}
