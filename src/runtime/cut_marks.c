// SPDX-License-Identifier: BSD-3-Clause
//
// A run that goes back to a checkpoint by itself shows each line once. So the launcher has to
// know where in the output of each node a checkpoint is: each writes a mark there, to stdout
// and stderr (cli/seen.c says what it looks like), in its pipes only, not where the program
// has led them. And the launcher says in TEAMSTER_RECOVERY what is to be gone on from:
//
//   TOKEN FIRST FROM     16 digits that begin marks; numbers of generations: struct cut_marks
#include "runtime/cut_marks.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "net/message.h"
#include "runtime/node.h"

#define VARIABLE "TEAMSTER_RECOVERY"

static ino_t pipe_behind(int fd)
{
    struct stat state;

    return fstat(fd, &state) == 0 && S_ISFIFO(state.st_mode) ? state.st_ino : 0;
}

void cut_marks_read(struct node *node)
{
    struct cut_marks *marks = &node->cut_marks;
    const char *text = getenv(VARIABLE);
    const int is_there = bootstrap_has_launcher(&node->bootstrap);
    int n = 0;

    if (node->options.buddy_is_tried && !is_there) {
        node->options.buddy = 0; // a program that one of its nodes has started
        node->options.recover = 0;
    }
    if (node->options.recover > 0 && !is_there) {
        log_fatal(EXIT_CONFIG,
                  "--recover: it is `teamster run` that goes back to a "
                  "checkpoint, and it has not started this process");
    }
    if (text == NULL || !is_there) {
        return;
    }
    if (sscanf(text, "%16[0-9a-f] %" SCNu64 " %" SCNu64 "%n", marks->token,
               &marks->first, &marks->from, &n) != 3 ||
        text[n] != '\0' || strlen(marks->token) != CUT_MARKS_TOKEN) {
        log_fatal(EXIT_CONFIG, VARIABLE "=%s is not what `teamster run` sets",
                  text);
    }
    unsetenv(VARIABLE);
    marks->outputs[0] = pipe_behind(STDOUT_FILENO);
    marks->outputs[1] = pipe_behind(STDERR_FILENO);
}

// A few bytes, which a pipe takes together.
static void write_all(int fd, const char *bytes, size_t size)
{
    struct pollfd set = {.fd = fd, .events = POLLOUT};

    while (write(fd, bytes, size) < 0 && (errno == EINTR || errno == EAGAIN)) {
        poll(&set, 1, -1); // as the program's own would wait
    }
}

void cut_marks_write(const struct node *node, uint64_t generation)
{
    const struct cut_marks *marks = &node->cut_marks;
    char mark[64];
    int size;

    fflush(stdout); // who goes on from here does not write that again
    fflush(stderr);
    if (marks->token[0] == '\0') {
        return;
    }
    size = snprintf(mark, sizeof mark, "%ccut %s %016" PRIx64, '\0',
                    marks->token, generation);
    for (int i = 0; i < 2; i++) {
        if (marks->outputs[i] != 0 &&
            pipe_behind(STDOUT_FILENO + i) == marks->outputs[i]) {
            write_all(STDOUT_FILENO + i, mark, (size_t)size + 1);
        }
    }
}

void cut_marks_prepared(struct node *node)
{
    if (!node->cut_marks.is_prepared && node->cut_marks.token[0] != '\0') {
        node->cut_marks.is_prepared = 1;
        cut_marks_write(node, 0);
    }
}

void cut_marks_tell_saved(const struct node *node, uint64_t generation,
                          uint64_t iteration, uint32_t n_answered,
                          const char *why)
{
    uint8_t body[1024];
    char text[512];
    struct wire_writer writer = {body, body + sizeof body, 0};

    snprintf(text, sizeof text, "%s", why);
    wire_put_boot_saved(&writer, &(struct wire_boot_saved){
                                     generation, iteration, n_answered, text});
    bootstrap_tell(&node->bootstrap, BOOT_SAVED, body,
                   (size_t)(writer.at - body));
}
