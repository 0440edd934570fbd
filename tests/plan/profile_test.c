// SPDX-License-Identifier: BSD-3-Clause
// What the runtime writes, the planner reads; what is no profile, it refuses.
#include "profile_make.h"

#include <unistd.h>

// ---- written and read ----

static void expect_same(const void *a, const void *b, size_t size)
{
    if (a == NULL || b == NULL) {
        assert_ptr_equal(a, b);
        return;
    }
    assert_memory_equal(a, b, size);
}

static void expect_same_view(const struct cluster_view *a,
                             const struct cluster_view *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_threads, b->n_threads);
    assert_int_equal(a->n_groups, b->n_groups);
    assert_int_equal(a->n_uses, b->n_uses);
    for (uint32_t x = 0; x < a->n_nodes; x++) {
        const struct node_view *p = &a->nodes[x];
        const struct node_view *q = &b->nodes[x];

        assert_string_equal(p->name, q->name);
        expect_same(&p->power, &q->power, sizeof *p - sizeof p->name);
    }
    expect_same(a->threads, b->threads, a->n_threads * sizeof *a->threads);
    expect_same(a->group_pages, b->group_pages,
                a->n_groups * sizeof *a->group_pages);
    expect_same(a->uses, b->uses, a->n_uses * sizeof *a->uses);
}

static void expect_same_decision(const struct profile *a,
                                 const struct profile *b)
{
    const struct profile_decision *p = &a->decision;
    const struct profile_decision *q = &b->decision;
    const uint32_t n_nodes = a->view.n_nodes;

    assert_string_equal(p->policy, q->policy);
    assert_true(p->seed == q->seed);
    assert_int_equal(p->effort, q->effort);
    expect_same(p->node_of, q->node_of, a->view.n_threads * sizeof(uint32_t));
    assert_int_equal(p->n_moves, q->n_moves);
    expect_same(&p->before_s, &q->before_s, 2 * sizeof(double));
    assert_int_equal(p->owners_move, q->owners_move);
    assert_int_equal(p->is_proven, q->is_proven);
    expect_same(p->node_before_s, q->node_before_s, n_nodes * sizeof(double));
    expect_same(p->node_after_s, q->node_after_s, n_nodes * sizeof(double));
    assert_int_equal(p->is_carried_out, q->is_carried_out);
    assert_int_equal(p->was_weighed, q->was_weighed);
    expect_same(&p->acceptance, &q->acceptance, sizeof p->acceptance);
}

static void expect_same_profile(const struct profile *a,
                                const struct profile *b)
{
    const uint32_t n_nodes = a->view.n_nodes;

    assert_string_equal(a->teamster, b->teamster);
    assert_string_equal(a->program, b->program);
    assert_true(a->iteration == b->iteration);
    expect_same(&a->unit_speed, &b->unit_speed, sizeof(double));
    expect_same_view(&a->view, &b->view);
    expect_same(a->node_of, b->node_of, a->view.n_threads * sizeof(uint32_t));
    assert_int_equal(a->model.kind, b->model.kind);
    assert_int_equal(a->model.replacement, b->model.replacement);
    assert_int_equal(a->model.overlap, b->model.overlap);
    expect_same(&a->model.reference, &b->model.reference,
                sizeof a->model.reference);
    expect_same(a->model.corrections, b->model.corrections,
                n_nodes * sizeof *a->model.corrections);
    expect_same(a->measured.nodes, b->measured.nodes,
                n_nodes * sizeof *a->measured.nodes);
    expect_same(&a->measured.iteration_s, &b->measured.iteration_s,
                sizeof(double));
    expect_same_decision(a, b);
}

static void what_is_read_is_what_was_written_to_the_last_bit(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct profile profile;
        struct profile again;
        char error[256];
        char *text;
        char *text_again;

        profile_draw(&profile);
        text = text_of(&profile);
        if (read_text(text, strlen(text), &again, error, sizeof error) !=
            TM_OK) {
            fail_msg("%s", error);
        }
        expect_same_profile(&profile, &again);
        text_again = text_of(&again);
        assert_string_equal(text, text_again);
        free(text);
        free(text_again);
        profile_release(&profile);
        profile_release(&again);
    }
}

static void a_script_is_read_as_it_was_written(void **state)
{
    struct profile_block blocks[] = {{3, 5}, {8, 100}};
    struct profile_run runs[] = {{3, 2, USE_READ, 0},
                                 {7, 30, USE_READ | USE_WRITE, 4096},
                                 {107, 1, USE_WRITE, 0}};
    struct profile profile;
    struct profile again;
    char error[256];
    char *text;

    (void)state;
    profile_draw(&profile);
    uint32_t first[2][64] = {{0}};
    struct profile_round rounds[] = {{4, first[0], runs}, {7, first[1], runs}};
    assert_true(profile.view.n_threads < 63);
    for (uint32_t i = 1; i <= profile.view.n_threads; i++) {
        first[0][i] = 2;
        first[1][i] = i < profile.view.n_threads ? 0 : 3;
    }
    profile.script =
        (struct profile_script){"sequential", 3, 2, blocks, 2, rounds};
    text = text_of(&profile);
    if (read_text(text, strlen(text), &again, error, sizeof error) != TM_OK) {
        fail_msg("%s", error);
    }
    assert_string_equal(again.script.protocol, "sequential");
    assert_int_equal(again.script.n_barriers, 3);
    assert_memory_equal(again.script.blocks, blocks, sizeof blocks);
    for (unsigned r = 0; r < 2; r++) {
        assert_int_equal(again.script.rounds[r].iteration, rounds[r].iteration);
        expect_same(again.script.rounds[r].first, first[r],
                    (profile.view.n_threads + 1) * sizeof(uint32_t));
        for (uint32_t k = 0; k < first[r][profile.view.n_threads]; k++) {
            assert_int_equal(again.script.rounds[r].runs[k].page, runs[k].page);
            assert_int_equal(again.script.rounds[r].runs[k].flags,
                             runs[k].flags);
        }
    }
    free(text);
    profile.script = (struct profile_script){0};
    profile_release(&profile);
    profile_release(&again);
}

// ---- refused ----

/** A profile with everything in it, as text. */
static char *whole_text(void)
{
    struct profile profile;
    char *text;

    do {
        profile_draw(&profile);
        if (profile.model.corrections != NULL && profile.measured.nodes &&
            profile.decision.node_before_s && profile.decision.was_weighed &&
            profile.view.n_nodes >= 2 && profile.view.n_threads >= 4 &&
            profile.view.n_threads < 12 && profile.view.n_uses < 60 &&
            profile.view.n_groups > 0) {
            text = text_of(&profile);
            profile_release(&profile);
            return text;
        }
        profile_release(&profile);
    } while (1);
}

static void a_file_that_was_cut_is_refused_at_every_length(void **state)
{
    char *text = whole_text();
    const size_t size = strlen(text) - 1; // the last newline is not needed
    struct profile profile = {.iteration = 77};
    char error[256];

    (void)state;
    for (size_t length = 0; length < size; length++) {
        assert_int_equal(read_text(text, length, &profile, error, sizeof error),
                         TM_ECONFIG);
        assert_int_equal(
            strncmp(error, length == 0 ? "f: is empty" : "f: line ", 8), 0);
    }
    assert_int_equal(profile.iteration, 77); // untouched
    free(text);
}

/** Whatever the bytes are: refused with a reason, or whole. */
static int survives(const char *text, size_t size)
{
    struct profile profile;
    char error[256] = "";
    tm_status status = read_text(text, size, &profile, error, sizeof error);

    if (status == TM_OK) {
        assert_true(cluster_view_is_valid(&profile.view));
        assert_true(mapping_is_valid(&profile.view, profile.node_of));
        free(text_of(&profile));
        profile_release(&profile);
        return 1;
    }
    assert_int_equal(status, TM_ECONFIG);
    assert_int_equal(strncmp(error, "f: ", 3), 0);
    assert_true(strlen(error) > 8);
    return 0;
}

static void changed_bytes_are_refused_or_harmless(void **state)
{
    static const char likely[] = "0123456789-+.eE\"[]{},: tfn\\\n";
    int n_taken = 0;

    (void)state;
    for (int round = 0; round < 40; round++) {
        char *text = whole_text();
        const size_t size = strlen(text);

        for (int k = 0; k < 100; k++) {
            char *changed = strdup(text);

            for (uint32_t n = 1 + random_below(3); n > 0; n--) {
                changed[random_below((uint32_t)size)] =
                    random_below(8) > 0
                        ? likely[random_below(sizeof likely - 1)]
                        : (char)random_below(256);
            }
            n_taken += survives(changed, size);
            free(changed);
        }
        free(text);
    }
    print_message("%d of 4000 are profiles still\n", n_taken);
    assert_in_range(n_taken, 1, 3999);
}

/** Find the value that begins at `start`. @return its end */
static const char *value_end(const char *start)
{
    int depth = 0;
    int is_quoted = 0;

    for (const char *at = start; *at != '\0'; at++) {
        is_quoted ^= *at == '"' && (at == start || at[-1] != '\\');
        if (is_quoted) {
            continue;
        }
        if ((*at == ',' || *at == ']' || *at == '}') && depth == 0) {
            return at;
        }
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
    }
    return NULL;
}

static char *replaced(const char *text, const char *start, const char *end,
                      const char *by)
{
    char *result = NULL;
    size_t size = 0;
    FILE *file = must(open_memstream(&result, &size));

    fprintf(file, "%.*s%s%s", (int)(start - text), text, by, end);
    fclose(file);
    return result;
}

static void every_value_of_another_type_is_refused(void **state)
{
    static const char *const others[] = {
        "true", "null", "\"text\"", "[]",    "{}",        "[[[[1]]]]",
        "-1",   "0.5",  "1e17",     "1e300", "4294967296"};
    char *text = whole_text();
    char *colon = text;
    int n_taken = 0;
    int n = 0;

    (void)state;
    while ((colon = strstr(colon + 1, "\": ")) != NULL) {
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            char *changed =
                replaced(text, colon + 3, value_end(colon + 3), others[k]);

            n_taken += survives(changed, strlen(changed));
            n++;
            free(changed);
        }
    }
    // Numbers in the place of numbers, texts for texts, null where it may be.
    print_message("%d of %d are profiles still\n", n_taken, n);
    assert_in_range(n_taken, 1, n / 2);
    free(text);
}

static void every_missing_key_is_refused(void **state)
{
    char *text = whole_text();
    char *colon = text;

    (void)state;
    while ((colon = strstr(colon + 1, "\": ")) != NULL) {
        char *start = colon - 1;
        const char *end = value_end(colon + 3);
        char *changed;

        while (*start != '"') {
            start--;
        }
        if (strncmp(start, "\"is_pinned", 10) == 0 ||
            strncmp(start, "\"update_s", 9) == 0 ||
            strncmp(start, "\"rest_s", 7) == 0) {
            continue; // may be missing
        }
        if (*end == ',') {
            end++;
        } else {
            while (*start != ',' && *start != '{') {
                start--;
            }
            start += *start == '{';
        }
        changed = replaced(text, start, end, "");
        assert_false(survives(changed, strlen(changed)));
        free(changed);
    }
    free(text);
}

// ---- what a refusal says ----

/** A small profile by hand; the tests replace parts of it. */
static const char by_hand[] =
    "{\n"
    "\"teamster_profile\": 1,\n"
    "\"comment\": \"by hand\",\n"
    "\"teamster\": \"0.1.0\", \"program\": \"p\", \"iteration\": 3,\n"
    "\"page_bytes\": 4096, \"unit_speed\": 400,\n"
    "\"nodes\": [\n"
    "{\"name\": \"n1\", \"power\": 1, \"n_processors\": 1,\n"
    " \"memory_pages\": 100, \"free_pages\": 100, \"total_pages\": 100,\n"
    " \"swap_in_s\": 0.1, \"swap_out_s\": 0.1, \"fetch_s\": 0.1,\n"
    " \"packet_s\": 0, \"packet_bytes\": 1500}],\n"
    "\"group_pages\": [4, 5],\n"
    "\"threads\": [\n"
    "{\"computation_s\": 1, \"uses\": [[0,3,0],[1,1,0]]}],\n"
    "\"node_of\": [0],\n"
    "\"model\": {\"kind\": \"measured\", \"replacement\": \"lru\",\n"
    " \"overlap\": \"none\", \"corrections\": null, \"reference\":\n"
    " {\"power\": 0, \"lack_pages\": 0, \"free_pages\": 0,\n"
    "  \"total_pages\": 0, \"swap_in_s\": 0, \"swap_out_s\": 0}},\n"
    "\"measured\": null,\n"
    "\"decision\": {\"policy\": \"cpu\", \"seed\": \"1\", \"effort\": 0,\n"
    " \"node_of\": [0], \"n_moves\": 0, \"before_s\": 1, \"after_s\": 1,\n"
    " \"owners_move\": false, \"is_proven\": true,\n"
    " \"node_before_s\": null, \"node_after_s\": null,\n"
    " \"is_carried_out\": false, \"acceptance\": null}\n"
    "}\n";

/** Replace the first `part` by `by`; the file is refused so. */
static void expect_refusal(const char *part, const char *by,
                           const char *expected)
{
    const char *start = strstr(by_hand, part);
    struct profile profile;
    char error[512] = "";
    char *text;

    assert_non_null(start);
    text = replaced(by_hand, start, start + strlen(part), by);
    assert_int_equal(
        read_text(text, strlen(text), &profile, error, sizeof error),
        TM_ECONFIG);
    assert_string_equal(error, expected);
    free(text);
}

static void a_refusal_says_where_and_what_is_allowed(void **state)
{
    struct profile profile;
    char error[256] = "";

    (void)state;
    assert_int_equal(
        read_text(by_hand, strlen(by_hand), &profile, error, sizeof error),
        TM_OK);
    assert_int_equal(profile.view.threads[0].n_uses, 2);
    assert_int_equal(profile.model.replacement, REPLACEMENT_LRU);
    assert_true(profile.decision.is_proven);
    profile_release(&profile);

    expect_refusal("file\": 1", "file\": 2",
                   "f: teamster_profile: is version 2; this teamster reads "
                   "version 1");
    expect_refusal("\"teamster_profile\": 1,", "",
                   "f: is no profile: 'teamster_profile' is missing; "
                   "\"teamster run --save-profile=FILE\" writes one");
    expect_refusal("\"power\": 1", "\"power\": -1",
                   "f: nodes[0].power: is -1; allowed: 1e-18 to 1e+18");
    expect_refusal("\"power\": 1", "\"power\": \"1\"",
                   "f: nodes[0].power: is a text; must be a number");
    expect_refusal("\"power\": 1", "\"pwoer\": 1",
                   "f: nodes[0]: 'power' is missing");
    expect_refusal("\"power\": 1", "\"power\": 1, \"disk\": 1",
                   "f: nodes[0]: 'disk' is not known; known are: name power "
                   "n_processors memory_pages free_pages total_pages "
                   "swap_in_s swap_out_s fetch_s packet_s packet_bytes "
                   "update_s");
    expect_refusal("\"memory_pages\": 100", "\"memory_pages\": 1e30",
                   "f: nodes[0].memory_pages: is 1e+30; allowed: 0 to "
                   "4503599627370496, whole");
}

static void a_refusal_of_lists_says_which_element(void **state)
{
    (void)state;
    expect_refusal("4096", "8192",
                   "f: page_bytes: is 8192; this teamster has pages of 4096");
    expect_refusal("[4, 5]", "[4, 0]",
                   "f: group_pages[1]: is 0; allowed: 1 to 4294967295, whole");
    expect_refusal("[1,1,0]", "[2,1,0]",
                   "f: threads[0].uses[1]: is of group 2; there are 2");
    expect_refusal("[1,1,0]", "[1,4,0]",
                   "f: threads[0].uses[1]: has the flags 4; allowed: 1 read, "
                   "2 write, 3 both");
    expect_refusal("[1,1,0]", "[1,1,9]",
                   "f: threads[0].uses[1]: has a diff of 9 bytes; allowed: 0 "
                   "to 4096, and 0 without writing");
    expect_refusal("[1,1,0]", "[1,1]",
                   "f: threads[0].uses[1]: has 2 elements; must be [group, "
                   "flags, diff]");
    expect_refusal("[1,1,0]", "[1,1.5,0]",
                   "f: threads[0].uses[1][1]: is 1.5; allowed: 0 to "
                   "4294967295, whole");
    expect_refusal("[1,1,0]", "[0,1,0]", "f: thread 0 uses group 0 twice");
    expect_refusal("\"node_of\": [0]", "\"node_of\": [1]",
                   "f: node_of[0]: is 1; allowed: 0 to 0, whole");
    expect_refusal("\"node_of\": [0]", "\"node_of\": [0,0]",
                   "f: node_of: has 2 elements; must have 1");
    expect_refusal(
        "\"nodes\": [", "\"nodes\": [], \"comment2\": [",
        "f: 'comment2' is not known; known are: teamster_profile "
        "comment teamster program iteration page_bytes unit_speed "
        "nodes group_pages threads node_of model measured decision script");
}

static void a_refusal_of_words_and_syntax_says_what_is_known(void **state)
{
    (void)state;
    expect_refusal("\"lru\"", "\"fifo\"",
                   "f: model.replacement: is 'fifo'; allowed: kept-set, lru");
    expect_refusal("\"measured\",", "\"liu06\",",
                   "f: model.reference: power is 0; this kind of model needs "
                   "a reference processor");
    expect_refusal("\"seed\": \"1\"", "\"seed\": \"-1\"",
                   "f: decision.seed: is '-1'; allowed: 0 to "
                   "18446744073709551615, in quotes");
    expect_refusal("\"seed\": \"1\"", "\"seed\": \"18446744073709551616\"",
                   "f: decision.seed: is '18446744073709551616'; allowed: 0 "
                   "to 18446744073709551615, in quotes");
    expect_refusal("\"is_proven\": true", "\"is_proven\": 1",
                   "f: decision.is_proven: is a number; must be true or false");
    expect_refusal("\"iteration\": 3,", "\"iteration\": 3, \"iteration\": 3,",
                   "f: line 4, column 64: duplicate object key near "
                   "'\"iteration\"'");
    expect_refusal("\"name\": \"n1\"", "\"name\": \"\"",
                   "f: node 0 has no name");
    expect_refusal("{\n\"teamster_profile\"", "[1] {\"teamster_profile\"",
                   "f: line 1, column 5: end of file expected near '{'");
}

static void other_files_are_refused(void **state)
{
    struct profile profile;
    char error[256];

    (void)state;
    assert_int_equal(
        profile_read("/nowhere/f.json", &profile, error, sizeof error),
        TM_ECONFIG);
    assert_string_equal(error, "/nowhere/f.json: No such file or directory");
    assert_int_equal(profile_read("/", &profile, error, sizeof error),
                     TM_ECONFIG);
    assert_string_equal(error, "/: cannot be read: Is a directory");
    assert_int_equal(profile_read("/dev/null", &profile, error, sizeof error),
                     TM_ECONFIG);
    assert_string_equal(error, "/dev/null: is empty");
    assert_int_equal(read_text("17", 2, &profile, error, sizeof error),
                     TM_ECONFIG);
    assert_string_equal(error, "f: is no profile: it must be an object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_was_written_to_the_last_bit),
        cmocka_unit_test(a_script_is_read_as_it_was_written),
        cmocka_unit_test(a_file_that_was_cut_is_refused_at_every_length),
        cmocka_unit_test(changed_bytes_are_refused_or_harmless),
        cmocka_unit_test(every_value_of_another_type_is_refused),
        cmocka_unit_test(every_missing_key_is_refused),
        cmocka_unit_test(a_refusal_says_where_and_what_is_allowed),
        cmocka_unit_test(a_refusal_of_lists_says_which_element),
        cmocka_unit_test(a_refusal_of_words_and_syntax_says_what_is_known),
        cmocka_unit_test(other_files_are_refused),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
