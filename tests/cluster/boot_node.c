// SPDX-License-Identifier: BSD-3-Clause
//
// A node for the tests of the launcher: it joins as the library does, then obeys
// its arguments, words like "2:exit=3": node 2 exits with 3, "*:serve": every
// node waits for its STOP. A word that begins with "-" is obeyed before the node
// gives its card, one with "+" before it is ready. Words are obeyed in order; a
// node that has no more of them exits with 0 as the root does: after DONE.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cluster/bootstrap.h"

static struct bootstrap bootstrap;

/** Obey the launcher until it says STOP or is gone. */
static void serve(void)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = bootstrap.fd, .events = POLLIN};

        poll(&poll_fd, 1, -1);
        switch (bootstrap_poll(&bootstrap)) {
        case BOOTSTRAP_STOP:
        case BOOTSTRAP_END:
            exit(0);
        case BOOTSTRAP_GONE:
            exit(EXIT_NODE_LOST);
        case BOOTSTRAP_STATUS:
            fprintf(stderr, "status of node %u\n", bootstrap.self);
            break;
        default:
            break;
        }
    }
}

static void print_lines(long n_lines)
{
    for (long i = 0; i < n_lines; i++) {
        printf("node %u line %ld of %ld\n", bootstrap.self, i, n_lines);
    }
    fflush(stdout);
}

static void print_long_line(long size)
{
    while (size-- > 0) {
        putchar('a' + bootstrap.self);
    }
    putchar('\n');
    fflush(stdout);
}

static void copy_input(void)
{
    char bytes[65536];
    ssize_t size;

    while ((size = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
        if (write(STDOUT_FILENO, bytes, (size_t)size) != size) {
            exit(9);
        }
    }
}

/** A child that nobody waits for; "daemon" leaves the process group. */
static void leave_child(int is_daemon)
{
    if (fork() == 0) {
        if (is_daemon) {
            setsid();
        }
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(9);
    }
}

static void obey_simple(const char *word)
{
    if (strcmp(word, "serve") == 0) {
        serve();
    } else if (strcmp(word, "hang") == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) {
            pause();
        }
    } else if (strcmp(word, "copy") == 0) {
        copy_input();
    } else if (strcmp(word, "child") == 0 || strcmp(word, "daemon") == 0) {
        leave_child(word[0] == 'd');
    } else if (strcmp(word, "cut") == 0) {
        close(bootstrap.fd);
    } else if (strcmp(word, "nonsense") == 0) {
        dprintf(bootstrap.fd, "Hello, is this the right number?\n");
    } else {
        fprintf(stderr, "boot_node: unknown word %s\n", word);
        exit(9);
    }
}

/** What this node has to say of others, and of how far it is.
 * @return 0 if it is no word of these */
static int tell(const char *word, long value)
{
    if (strncmp(word, "threads=", 8) == 0) {
        bootstrap_tell_progress(
            &bootstrap, &(struct wire_boot_progress){
                            .n_iterations = 16, .n_threads = (uint32_t)value});
    } else if (strncmp(word, "suspect=", 8) == 0) {
        bootstrap_tell_peer(&bootstrap, (node_id)value, BOOT_PEER_SUSPECT, 3);
    } else if (strncmp(word, "back=", 5) == 0) {
        bootstrap_tell_peer(&bootstrap, (node_id)value, BOOT_PEER_BACK, 0);
    } else if (strncmp(word, "lost=", 5) == 0) {
        bootstrap_tell_peer(&bootstrap, (node_id)value, BOOT_PEER_LOST, 5);
        exit(EXIT_NODE_LOST);
    } else {
        return 0;
    }
    return 1;
}

static void obey(const char *word)
{
    const char *equals = strchr(word, '=');
    long value = equals != NULL ? atol(equals + 1) : 0;
    size_t length = equals != NULL ? (size_t)(equals - word) : 0;

    if (tell(word, value)) {
        return;
    }
    if (equals == NULL) {
        obey_simple(word);
    } else if (strncmp(word, "exit", length) == 0) {
        exit((int)value);
    } else if (strncmp(word, "signal", length) == 0) {
        signal((int)value, SIG_DFL); // not a sanitizer's
        raise((int)value);
    } else if (strncmp(word, "failed", length) == 0) {
        bootstrap_failed(&bootstrap, (int)value);
        exit((int)value);
    } else if (strncmp(word, "done", length) == 0) {
        bootstrap_done(&bootstrap, (int)value);
    } else if (strncmp(word, "wait", length) == 0) {
        usleep((useconds_t)value * 1000);
    } else if (strncmp(word, "lines", length) == 0) {
        print_lines(value);
    } else if (strncmp(word, "long", length) == 0) {
        print_long_line(value);
    } else if (strncmp(word, "say", length) == 0) {
        printf("%s", equals + 1);
        fflush(stdout);
    } else {
        obey_simple(word);
    }
}

/** @param stage  '-', '+', or 0 for words that begin with neither */
static void obey_all(int argc, char **argv, char stage)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *colon = strchr(word, ':');

        char its_stage = word[0] == '-' || word[0] == '+' ? word[0] : '\0';

        if (its_stage != stage || colon == NULL) {
            continue;
        }
        word += stage != '\0';
        if (word[0] == '*' || (unsigned)atoi(word) == bootstrap.self) {
            obey(colon + 1);
        }
    }
}

static void join(int argc, char **argv)
{
    static struct node_card card;
    static struct boot_member members[TM_MAX_NODES];
    static uint16_t host_of[TM_MAX_NODES];
    static uint8_t job_key[BOOT_KEY_SIZE];
    const struct boot_roster roster = {job_key, members, host_of};
    tm_status status;

    node_card_set_version(&card);
    strcpy(card.build_id, BUILD_ID);
    card.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
    card.pid = (uint32_t)getpid();
    status = bootstrap_exchange(&bootstrap, &card, &roster);
    if (status == TM_OK) {
        obey_all(argc, argv, '+');
        status = bootstrap_ready(&bootstrap);
    }
    if (status != TM_OK) {
        exit(status == TM_EMISMATCH ? EXIT_MISMATCH : EXIT_NODE_LOST);
    }
    for (unsigned i = 0; i < bootstrap.n_nodes; i++) {
        if ((members[i].pid == card.pid) != (i == bootstrap.self)) {
            exit(9);
        }
        free(members[i].address);
    }
}

int main(int argc, char **argv)
{
    if (bootstrap_open(&bootstrap) != TM_OK) {
        return EXIT_CONFIG;
    }
    obey_all(argc, argv, '-');
    join(argc, argv);
    obey_all(argc, argv, '\0');
    if (bootstrap.self != 0) {
        serve();
    }
    bootstrap_done(&bootstrap, 0);
    return 0;
}
