// SPDX-License-Identifier: BSD-3-Clause
// base/options.c: sizes, numbers, and the value of any option, in its variable. What is
// refused is refused in one line.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/reading.h"
#include "fuzz.h"

static void check_numbers(const char *text)
{
    uint64_t bytes;
    double value;

    if (parse_size(text, &bytes) == TM_OK) {
        FUZZ_CHECK(text[0] >= '0' && text[0] <= '9');
    }
    if (parse_decimal(text, &value) == TM_OK) {
        FUZZ_CHECK(!isnan(value) && value >= 0);
    }
}

static void check_options(const struct options *options)
{
    FUZZ_CHECK(options->nodes >= 1 && options->nodes <= TM_MAX_NODES);
    FUZZ_CHECK(options->workers <= WORKERS_MAX);
    FUZZ_CHECK(options->share > 0 && options->share <= 1);
    FUZZ_CHECK(options->stack_size % TM_PAGE_SIZE == 0);
    FUZZ_CHECK(options->space % TM_PAGE_SIZE == 0 && options->space > 0);
    FUZZ_CHECK(options->counts.n <= TM_MAX_NODES);
    FUZZ_CHECK(memchr(options->hosts, 0, sizeof options->hosts) != NULL);
    FUZZ_CHECK(memchr(options->policy, 0, sizeof options->policy) != NULL);
}

static void read_as(unsigned row, const char *text)
{
    static struct options options;
    char error[256] = "";

    setenv(option_rows[row].variable, text, 1);
    if (options_read(&options, error, sizeof error) == TM_OK) {
        check_options(&options);
    } else {
        size_t length = strnlen(error, sizeof error);

        FUZZ_CHECK(length > 0 && length < sizeof error);
        FUZZ_CHECK(strchr(error, '\n') == NULL);
    }
    unsetenv(option_rows[row].variable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size < 1) {
        return 0;
    }
    text = fuzz_text(data + 1, size - 1);
    check_numbers(text);
    read_as(data[0] % n_option_rows, text);
    free(text);
    return 0;
}
