// SPDX-License-Identifier: BSD-3-Clause
#include "observe/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/mentions.h"

static struct story_step a_fault(void)
{
    return (struct story_step){
        .at_ns = 5,
        .thread = 3,
        .pc = 0x555512345678,
        .name = "write fault",
        .had = 4000000000u,
        .from = NODE_NONE,
        .who = NODE_NONE,
        .flags = MENTION_TO_WRITE,
        .state = PAGE_EXCLUSIVE,
        .access = ACCESS_WRITE,
        .is_owner = 1,
        .n_copies = 255,
    };
}

static struct story_step a_message(const char *name)
{
    return (struct story_step){
        .at_ns = 6,
        .thread = EVENT_OF_NODE,
        .name = name,
        .version = 3000000000u,
        .n_bytes = 4096,
        .from = 255,
        .who = 7,
        .flags = MENTION_WITH_CONTENTS | MENTION_WITH_OWNERSHIP,
        .what = 3,
        .state = PAGE_CLEAN,
        .access = ACCESS_READ,
    };
}

static void expect_kept(const struct story_step *step)
{
    const struct event event = story_pack(step);
    const struct story_step back = story_unpack(&event);

    assert_int_equal(event.sort, EVENT_STORY);
    assert_int_equal(back.at_ns, step->at_ns);
    assert_int_equal(back.thread, step->thread);
    assert_int_equal(back.pc, step->pc);
    assert_ptr_equal(back.name, step->name);
    assert_int_equal(back.version, step->version);
    assert_int_equal(back.n_bytes, step->n_bytes);
    assert_int_equal(back.had, step->had);
    assert_int_equal(back.from, step->from);
    assert_int_equal(back.who, step->who);
    assert_int_equal(back.flags, step->flags);
    assert_int_equal(back.what, step->what);
    assert_int_equal(back.state, step->state);
    assert_int_equal(back.access, step->access);
    assert_int_equal(back.is_owner, step->is_owner);
    assert_int_equal(back.is_stale, step->is_stale);
    assert_int_equal(back.n_copies, step->n_copies);
}

static void an_event_keeps_a_step(void **state)
{
    struct story_step fault = a_fault();
    struct story_step message = a_message("page");

    (void)state;
    expect_kept(&fault);
    expect_kept(&message);
    message.is_stale = 1;
    message.state = PAGE_ABSENT;
    expect_kept(&message);
}

static void expect_words(struct story_step step, const char *what,
                         const char *then)
{
    const struct story_line line = {.step = step, .where = "fill (a.c:12)"};
    char text[256];

    story_say_step(&line, text, sizeof text);
    assert_string_equal(text, what);
    story_say_state(&step, text, sizeof text);
    assert_string_equal(text, then);
}

static void steps_are_told_in_words(void **state)
{
    struct story_step step = a_message("fetch");

    (void)state;
    expect_words(a_fault(), "thread 3 writes it, in fill (a.c:12)",
                 "owner, may write, exclusive, 255 copies elsewhere");
    expect_words(a_message("page"), "the page's bytes, and ownership",
                 "copy, may read");
    expect_words(step, "node 7 asks for it, to read", "copy, may read");
    step.flags = MENTION_TO_WRITE;
    step.state = PAGE_ABSENT;
    step.is_stale = 1;
    expect_words(step, "node 7 asks for it, to write", "an old copy");
    expect_words(a_message("invalidate"), "the copy is to be given up",
                 "copy, may read");
    expect_words(a_message("nobody knows it"), "nobody knows it",
                 "copy, may read");
}

static char *write(void (*write_story)(FILE *file, const struct story *story),
                   const struct story *story)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    write_story(file, story);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in\n%s", part, text);
    }
}

static void a_story_is_written(void **state)
{
    struct story_line lines[] = {
        {.step = a_fault(), .node = 255, .where = "std::vector<int>::at"},
        {.step = a_message("page"), .node = 0, .ms = 1.25},
    };
    struct story story = {
        .title = "page 0x1000 (grid & more)", .lines = lines, .n = 2};
    char *text = write(story_write_text, &story);

    (void)state;
    expect_in(text, "the story of page 0x1000 (grid & more)\n");
    expect_in(text,
              "       0.000  n255           thread 3 writes it, in std::");
    expect_in(text, "       1.250  n0 <- n255     the page's bytes, and");
    free(text);
    text = write(story_write_svg, &story);
    expect_in(text, "grid &amp; more");
    expect_in(text, "std::vector&lt;int&gt;::at");
    expect_in(text, ">node 0<");
    expect_in(text, ">node 255<");
    expect_in(text, "</svg>\n");
    free(text);
}

static void what_is_not_there_is_said(void **state)
{
    struct story story = {.title = "x", .n_lost = 12};
    char *text = write(story_write_text, &story);
    struct story_line *many;

    (void)state;
    expect_in(text, "12 steps before these were not kept");
    expect_in(text, "nothing has happened to it");
    free(text);
    story.n = STORY_DRAWN + 3;
    many = calloc(story.n, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < story.n; i++) {
        many[i].step = a_message("page");
    }
    story.lines = many;
    text = write(story_write_svg, &story);
    expect_in(text, ">and 3 steps more<");
    free(text);
    free(many);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_keeps_a_step),
        cmocka_unit_test(steps_are_told_in_words),
        cmocka_unit_test(a_story_is_written),
        cmocka_unit_test(what_is_not_there_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
