// SPDX-License-Identifier: BSD-3-Clause
//
// Strings in shared memory, whose length the C library has to find out.
#include "calls.h"

#include <unistd.h>

static void expect_text_in(FILE *file)
{
    int fd = fileno(file);

    CHECK(fflush(file) == 0);
    CHECK(pread(fd, private_bytes, size + 1, 0) == (ssize_t)size);
    CHECK(private_bytes[size - 1] == '\n');
    for (size_t i = 0; i + 1 < size; i++) {
        CHECK(private_bytes[i] == text(i, size));
    }
    CHECK(ftruncate(fd, 0) == 0);
    rewind(file);
    seed++;
}

// puts() writes to standard output: this is a file meanwhile.
static void run_puts(FILE *file)
{
    int stdout_fd = dup(STDOUT_FILENO);

    CHECK(fflush(stdout) == 0);
    CHECK(dup2(fileno(file), STDOUT_FILENO) == STDOUT_FILENO);
    there(FILL_TEXT);
    CHECK(puts(buffer) >= 0);
    CHECK(fflush(stdout) == 0);
    CHECK(dup2(stdout_fd, STDOUT_FILENO) == STDOUT_FILENO);
    close(stdout_fd);
    expect_text_in(file);
}

static void run_printf(FILE *file)
{
    for (unsigned i = 0; i < 10; i++) {
        there(FILL_TEXT);
        CHECK(fprintf(file, "%s\n", buffer) == (int)size);
        expect_text_in(file);
        there(FILL_TEXT);
        CHECK(fprintf(file, "%.*s%s\n", 50, buffer, buffer + 50) == (int)size);
        expect_text_in(file);
    }
}

// Another node keeps writing beside the string, in its first page and its last.
static TM_SHARED int64_t is_over;

static void *disturb(void *block)
{
    volatile char *at = block;

    while (tm_fetch_add(&is_over, 0) == 0) {
        for (unsigned i = 0; i < 100; i++) {
            at[0]++;
            at[OFFSET + task.size]++;
        }
    }
    return NULL;
}

static void run_disturbed(FILE *file, char *block)
{
    tm_thread_attr attr = {.placement = TM_ON_NODE,
                           .node = tm_node_count() - 1};
    tm_thread thread;

    there(FILL_TEXT);
    CHECK(tm_thread_create(&thread, &attr, disturb, block) == TM_OK);
    for (unsigned i = 0; i < 50; i++) {
        CHECK(fprintf(file, "%s%s", buffer, "\n") == (int)size);
        expect_text_in(file);
        seed--;
        CHECK(fputs(buffer, file) >= 0 && fputs("\n", file) >= 0);
        expect_text_in(file);
        seed--;
        CHECK(dprintf(fileno(file), "%s%s", buffer, "\n") == (int)size);
        expect_text_in(file);
        seed--;
    }
    tm_fetch_add(&is_over, 1);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
}

// As if another thread wrote between the moment that the length is known and the
// moment that the text is taken: %n writes over the string's end.
static void run_growing(FILE *file)
{
    enum { SHORT = 20000, LONG = 60000 };
    char *string = private_bytes;
    int n;

    for (unsigned i = 0; i < 2; i++) {
        memset(string, 'x', LONG);
        string[SHORT] = '\0';
        string[LONG] = '\0';
        if (i == 0) {
            n = fprintf(file, "%s%hhn", string, (signed char *)string + SHORT);
        } else {
            n = dprintf(fileno(file), "%s%hhn", string,
                        (signed char *)string + SHORT);
        }
        CHECK(strlen(string) == LONG);
        CHECK(n >= SHORT && n <= LONG && fflush(file) == 0);
        CHECK(pread(fileno(file), string, LONG + 1, 0) == n);
        for (int k = 0; k < n; k++) {
            CHECK(string[k] == 'x' || k == SHORT);
        }
        CHECK(ftruncate(fileno(file), 0) == 0);
        rewind(file);
    }
}

static void run_fgets(FILE *file)
{
    char *line = buffer;

    for (size_t i = 0; i < size; i++) {
        private_bytes[i] = text(i, size);
    }
    CHECK(fputs(private_bytes, file) >= 0);
    rewind(file);
    there(CLEAR);
    while (line + 1 < buffer + size) {
        size_t rest = (size_t)(buffer + size - line);
        int room = rest > 100 ? 100 : (int)rest;

        CHECK(fgets(line, line == buffer ? 30 : room, file) == line);
        line += strlen(line);
    }
    there(COMPARE_TEXT);
    CHECK(fgets(buffer, 100, file) == NULL && feof(file));
    there(COMPARE_TEXT); // it is as it was
    CHECK(fgets(buffer, 1, file) == buffer && buffer[0] == '\0');
}

void run_strings(void)
{
    FILE *file = fdopen(temporary_file(), "w+b");
    char *block = tm_alloc(500000, &(tm_alloc_attr){.name = "text"});

    buffer = block + OFFSET;
    size = 300000;
    private_bytes = calloc(1, size + 1);
    there(FILL_TEXT);
    CHECK(fputs(buffer, file) >= 0 && fputs("\n", file) >= 0);
    expect_text_in(file);
    run_puts(file);
    run_printf(file);
    run_disturbed(file, block);
    run_growing(file);
    run_fgets(file);
    buffer[0] = '\0';
    CHECK(fputs(buffer, file) >= 0);
    memset(block, 'x', 500000); // and on to the end of its last page
    memset(block + 500000, 'x', 4096 - 500000 % 4096);
    errno = 0;
#ifndef __SANITIZE_ADDRESS__ // it looks for the end of the string itself
    CHECK(fputs(block, file) == EOF && errno == EFAULT);
#endif
    CHECK(fgets(block + 503808, 10, file) == NULL && errno == EFAULT);
    fclose(file);
    free(private_bytes);
}
