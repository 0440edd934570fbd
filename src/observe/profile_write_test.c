// SPDX-License-Identifier: BSD-3-Clause
#include "observe/profile_write.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// That what is written can be read, and is the same then, is shown in
// tests/plan/profile_test.c.

/** Two nodes, three threads, two groups. */
struct example {
    struct profile profile;
    struct node_measurement measured[2];
    struct correction corrections[2];
};

static const uint32_t in_force[] = {0, 0, 1};
static const uint32_t answer[] = {0, 1, 1};
static const double after_s[] = {0.5, 0.25};

static void make_view(struct cluster_view *view)
{
    static const struct use uses[] = {
        {0, USE_READ | USE_WRITE, 120}, {1, USE_READ, 0}, {1, USE_WRITE, 0}};

    assert_int_equal(cluster_view_init(view, 2, 3), TM_OK);
    for (uint32_t x = 0; x < 2; x++) {
        view->nodes[x] = (struct node_view){
            .power = 1 + 0.25 * x,
            .n_processors = 1,
            .memory_pages = 100,
            .packet_bytes = 1500,
            .swap_in_s = 0.1,
        };
        snprintf(view->nodes[x].name, VIEW_NAME_MAX, "n%u", x + 1);
    }
    view->n_groups = 2;
    view->n_uses = 3;
    view->group_pages = calloc(2, sizeof *view->group_pages);
    view->uses = calloc(3, sizeof *view->uses);
    assert_true(view->group_pages != NULL && view->uses != NULL);
    view->group_pages[0] = 7;
    view->group_pages[1] = 8;
    memcpy(view->uses, uses, sizeof uses);
    view->threads[0] = (struct thread_view){1.5, 0, 2, 0};
    view->threads[1] = (struct thread_view){0.1, 2, 0, 1};
    view->threads[2] = (struct thread_view){2, 2, 1, 0};
}

static void make(struct example *example)
{
    *example = (struct example){0};
    make_view(&example->profile.view);
    for (uint32_t x = 0; x < 2; x++) {
        example->corrections[x] = (struct correction){1, 1, 1, 0.5, 0, 0};
        example->measured[x].time_s = 3;
    }
    strcpy(example->profile.teamster, "0.1.0");
    strcpy(example->profile.program, "say \"\\\n");
    example->profile.iteration = 17;
    example->profile.node_of = in_force;
}

static void decide(struct example *example)
{
    struct profile_decision *decision = &example->profile.decision;

    example->profile.model.corrections = example->corrections;
    example->profile.measured = (struct measurement){3, example->measured};
    strcpy(decision->policy, "cpu-mem");
    decision->seed = UINT64_MAX;
    decision->node_of = answer;
    decision->n_moves = 1;
    decision->before_s = 3;
    decision->after_s = 0.5;
    decision->node_after_s = after_s;
    decision->was_weighed = decision->is_carried_out = 1;
    decision->acceptance =
        (struct profile_acceptance){3, 0.5, UINT64_MAX, 4096, 1e9, 0};
}

/** What profile_write() gives, to be freed. */
static char *written(const struct profile *profile, tm_status expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(profile_write(file, profile), expected);
    fclose(file);
    return text;
}

static void expect_text(const struct profile *profile, const char *expected)
{
    char *text = written(profile, TM_OK);

    assert_string_equal(text, expected);
    free(text);
}

#define HEAD                                                                   \
    "{\n"                                                                      \
    "\"teamster_profile\": 1,\n"                                               \
    "\"teamster\": \"0.1.0\",\n"                                               \
    "\"program\": \"say \\\"\\\\\\u000a\",\n"                                  \
    "\"iteration\": 17,\n"                                                     \
    "\"page_bytes\": 4096,\n"                                                  \
    "\"unit_speed\": 0,\n"                                                     \
    "\"nodes\": [\n"                                                           \
    "{\"name\": \"n1\", \"power\": 1, \"n_processors\": 1, "                   \
    "\"memory_pages\": 100, \"free_pages\": 0, \"total_pages\": 0, "           \
    "\"swap_in_s\": 0.10000000000000001, \"swap_out_s\": 0, \"fetch_s\": 0, "  \
    "\"packet_s\": 0, \"packet_bytes\": 1500, \"update_s\": 0},\n"             \
    "{\"name\": \"n2\", \"power\": 1.25, \"n_processors\": 1, "                \
    "\"memory_pages\": 100, \"free_pages\": 0, \"total_pages\": 0, "           \
    "\"swap_in_s\": 0.10000000000000001, \"swap_out_s\": 0, \"fetch_s\": 0, "  \
    "\"packet_s\": 0, \"packet_bytes\": 1500, \"update_s\": 0}\n"              \
    "],\n"                                                                     \
    "\"group_pages\": [7,8],\n"                                                \
    "\"threads\": [\n"                                                         \
    "{\"computation_s\": 1.5, \"uses\": [[0,3,120],[1,1,0]]},\n"               \
    "{\"computation_s\": 0.10000000000000001, \"is_pinned\": true, "           \
    "\"uses\": []},\n"                                                         \
    "{\"computation_s\": 2, \"uses\": [[1,2,0]]}\n"                            \
    "],\n"                                                                     \
    "\"node_of\": [0,0,1],\n"                                                  \
    "\"model\": {\"kind\": \"measured\", \"replacement\": \"kept-set\", "      \
    "\"overlap\": \"none\",\n"                                                 \
    "  \"reference\": {\"power\": 0, \"lack_pages\": 0, \"free_pages\": 0, "   \
    "\"total_pages\": 0, \"swap_in_s\": 0, \"swap_out_s\": 0},\n"              \
    "  \"corrections\": "

static void a_profile_without_a_decision_is_written(void **state)
{
    struct example example;

    (void)state;
    make(&example);
    expect_text(&example.profile, HEAD "null\n"
                                       "},\n"
                                       "\"measured\": null,\n"
                                       "\"decision\": null\n"
                                       "}\n");
    cluster_view_release(&example.profile.view);
}

#define MEASURED                                                               \
    "{\"comp_s\": 0, \"mem_s\": 0, \"swap_in_s\": 0, \"swap_out_s\": 0, "      \
    "\"comm_s\": 0, \"time_s\": 3, \"lack_pages\": 0}"

static void a_decision_is_written_with_what_it_was_made_from(void **state)
{
    struct example example;

    (void)state;
    make(&example);
    decide(&example);
    expect_text(&example.profile,
                HEAD "[\n"
                     "  {\"comp\": 1, \"mem\": 1, \"comm\": 1, \"memory\": "
                     "0.5, \"rest_s\": 0},\n"
                     "  {\"comp\": 1, \"mem\": 1, \"comm\": 1, \"memory\": "
                     "0.5, \"rest_s\": 0}]\n"
                     "},\n"
                     "\"measured\": {\"iteration_s\": 3, \"nodes\": [\n"
                     "  " MEASURED ",\n"
                     "  " MEASURED "\n"
                     "]},\n"
                     "\"decision\": {\"policy\": \"cpu-mem\", "
                     "\"seed\": \"18446744073709551615\", \"effort\": 0,\n"
                     "  \"node_of\": [0,1,1],\n"
                     "  \"n_moves\": 1, \"before_s\": 3, \"after_s\": 0.5, "
                     "\"owners_move\": false, \"is_proven\": false,\n"
                     "  \"node_before_s\": null,\n"
                     "  \"node_after_s\": [0.5, 0.25],\n"
                     "  \"is_carried_out\": true,\n"
                     "  \"acceptance\": {\"now_s\": 3, \"predicted_s\": 0.5, "
                     "\"iterations_left\": null, \"moved_bytes\": 4096, "
                     "\"bytes_per_s\": 1000000000, \"warm_up_s\": 0}\n"
                     "}\n"
                     "}\n");
    cluster_view_release(&example.profile.view);
}

static void expect_refusal(struct example *example)
{
    char *text = written(&example->profile, TM_EINVAL);

    assert_string_equal(text, "");
    free(text);
    cluster_view_release(&example->profile.view);
    make(example);
    decide(example);
}

static void what_could_not_be_read_is_refused(void **state)
{
    static const uint32_t elsewhere[] = {0, 2, 1};
    struct example example;

    (void)state;
    make(&example);
    decide(&example);
    example.profile.view.nodes[1].power = 0;
    expect_refusal(&example);
    example.profile.view.nodes[1].memory_pages = PROFILE_PAGES_MAX + 1;
    expect_refusal(&example);
    example.profile.view.threads[0].computation_s = NAN;
    expect_refusal(&example);
    example.profile.view.threads[0].computation_s = 1e19;
    expect_refusal(&example);
    example.profile.view.uses[0].group = 2;
    expect_refusal(&example);
    example.profile.node_of = elsewhere;
    expect_refusal(&example);
    example.profile.node_of = NULL;
    expect_refusal(&example);
    example.profile.decision.node_of = elsewhere;
    expect_refusal(&example);
    example.profile.decision.after_s = INFINITY;
    expect_refusal(&example);
    example.profile.decision.acceptance.bytes_per_s = 0;
    expect_refusal(&example);
    example.corrections[1].mem = 0;
    expect_refusal(&example);
    example.measured[1].comm_s = -1;
    expect_refusal(&example);
    example.profile.model.kind = COST_LIU06;
    expect_refusal(&example);
    example.profile.iteration = PROFILE_COUNT_MAX + 1;
    expect_refusal(&example);
    free(written(&example.profile, TM_OK)); // it was the change each time
    cluster_view_release(&example.profile.view);
}

static void names_that_are_no_utf8_are_made_so(void **state)
{
    static const char *const names[][2] = {
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", NULL}, // as it is
        {"a\xff\x62", "a?b"},
        {"\xc3", "?"},
        {"\xc0\x80", "??"},           // 0 in two bytes
        {"\xed\xa0\x80", "???"},      // half a pair
        {"\xf5\x80\x80\x80", "????"}, // above 10ffff
    };
    struct example example;

    (void)state;
    make(&example);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char expected[64];
        char *text;

        strcpy(example.profile.program, names[i][0]);
        snprintf(expected, sizeof expected, "\"program\": \"%s\",\n",
                 names[i][names[i][1] != NULL]);
        text = written(&example.profile, TM_OK);
        assert_non_null(strstr(text, expected));
        free(text);
    }
    cluster_view_release(&example.profile.view);
}

static void the_sign_of_zero_is_kept(void **state)
{
    struct example example;
    char *text;

    (void)state;
    make(&example);
    example.profile.view.threads[2].computation_s = -0.0;
    text = written(&example.profile, TM_OK);
    assert_non_null(strstr(text, "\"computation_s\": -0.0,"));
    free(text);
    cluster_view_release(&example.profile.view);
}

static void the_programs_locale_does_not_matter(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE",
                                          "C"};
    struct example example;
    char *plain;
    unsigned i = 0;

    (void)state;
    make(&example);
    plain = written(&example.profile, TM_OK);
    while (setlocale(LC_ALL, locales[i]) == NULL) {
        i++;
    }
    print_message("locale %s\n", locales[i]);
    expect_text(&example.profile, plain);
    assert_string_equal(setlocale(LC_ALL, NULL), locales[i]);
    setlocale(LC_ALL, "C");
    free(plain);
    cluster_view_release(&example.profile.view);
}

static void a_full_disk_is_told(void **state)
{
    struct example example;
    FILE *file = fopen("/dev/full", "we");

    (void)state;
    if (file == NULL) {
        skip();
    }
    make(&example);
    assert_int_equal(profile_write(file, &example.profile), TM_ESYSTEM);
    fclose(file);
    cluster_view_release(&example.profile.view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_a_decision_is_written),
        cmocka_unit_test(a_decision_is_written_with_what_it_was_made_from),
        cmocka_unit_test(what_could_not_be_read_is_refused),
        cmocka_unit_test(names_that_are_no_utf8_are_made_so),
        cmocka_unit_test(the_sign_of_zero_is_kept),
        cmocka_unit_test(the_programs_locale_does_not_matter),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
