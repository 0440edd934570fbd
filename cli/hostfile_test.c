// SPDX-License-Identifier: BSD-3-Clause
#include "hostfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulate.h"

static tm_status parse(const char *text, struct hosts *hosts, char *error,
                       size_t size)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    tm_status status;

    assert_non_null(file);
    status = hosts_parse(file, "hosts", TM_MAX_NODES, hosts, error, size);
    fclose(file);
    return status;
}

static struct hosts parsed(const char *text)
{
    struct hosts hosts;
    char error[256] = "";

    if (parse(text, &hosts, error, sizeof error) != TM_OK) {
        fail_msg("'%s' is refused: %s", text, error);
    }
    return hosts;
}

static void expect_refusal(const char *text, const char *expected)
{
    struct hosts hosts = {.n = 77};
    char error[256] = "";

    assert_int_equal(parse(text, &hosts, error, sizeof error), TM_ECONFIG);
    assert_string_equal(error, expected);
    assert_int_equal(hosts.n, 77);
}

static void expect_no_file(const char *path, const char *expected)
{
    struct hosts hosts = {.n = 77};
    char error[256] = "";
    char line[256];

    assert_int_equal(
        hosts_read(path, TM_MAX_NODES, &hosts, error, sizeof error),
        TM_ECONFIG);
    snprintf(line, sizeof line, "%s: %s", path, expected);
    assert_string_equal(error, line);
    assert_int_equal(hosts.n, 77);
}

static void what_is_no_file_is_refused(void **state)
{
    char folder[] = "/tmp/hostfile_test.XXXXXX";
    char path[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    expect_no_file(folder, "Is a directory");
    snprintf(path, sizeof path, "%s/pipe", folder);
    expect_no_file(path, "No such file or directory");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_no_file(path, "it is a pipe, and nobody writes to it");
    unlink(path);
    rmdir(folder);
}

// As <(...) of a shell; who writes may take longer than a pipe without a writer has.
static void a_pipe_is_read(void **state)
{
    for (unsigned delay_s = 0; delay_s < 6; delay_s += 5) {
        struct hosts hosts = {0};
        char path[32];
        char error[256] = "";
        int ends[2];
        pid_t child;

        (void)state;
        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0) {
            close(ends[0]);
            sleep(delay_s);
            _exit(write(ends[1], "n1\nn2\n", 6) == 6 ? 0 : 1);
        }
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        assert_int_equal(
            hosts_read(path, TM_MAX_NODES, &hosts, error, sizeof error), TM_OK);
        assert_int_equal(hosts.n, 2);
        hosts_release(&hosts);
        close(ends[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

static void each_line_is_a_node(void **state)
{
    struct hosts hosts =
        parsed("# the cluster of the paper\n"
               "\n"
               "n1 slots=2 speed=500 memory=45M\n"
               "\t n2.example.org  workers=3 speed=400.5  # slow\n"
               "n2.example.org slots=4 workers=1 speed=.5 memory=2g\r\n"
               "   \n"
               "n4 speed=300");

    (void)state;
    assert_int_equal(hosts.n, 4);
    assert_string_equal(hosts.all[0].name, "n1");
    assert_int_equal(hosts.all[0].line, 3);
    assert_int_equal(hosts.all[0].workers, 2);
    assert_true(hosts.all[0].speed == 500);
    assert_true(hosts.all[0].memory == (uint64_t)45 << 20);
    assert_true(hosts.all[0].share == 1);
    assert_string_equal(hosts.all[1].name, "n2.example.org");
    assert_int_equal(hosts.all[1].workers, 3);
    assert_true(hosts.all[1].speed == 400.5);
    assert_int_equal(hosts.all[1].memory, 0);
    assert_int_equal(hosts.all[2].workers, 1);
    assert_true(hosts.all[2].memory == (uint64_t)2 << 30);
    assert_int_equal(hosts.all[3].line, 7);
    assert_int_equal(hosts.all[3].workers, 0);
    hosts_release(&hosts);
}

static void nodelists_of_charm_are_read(void **state)
{
    struct hosts hosts = parsed("# of another program\n"
                                "group main ++shell ssh ++speed 1\n"
                                "  host n1 ++cpus 2 ++speed 1.5\n"
                                "host n2   # slow\n"
                                "\n"
                                "group other ++cpus 7\n"
                                "host n9 ++speed 3\n"
                                "group main ++cpus 4\n"
                                "host n3 ++speed 2.5\n");

    (void)state;
    assert_int_equal(hosts.n, 3);
    assert_string_equal(hosts.all[0].name, "n1");
    assert_int_equal(hosts.all[0].workers, 2);
    assert_true(hosts.all[0].speed == 1.5);
    assert_int_equal(hosts.all[0].line, 3);
    assert_string_equal(hosts.all[1].name, "n2");
    assert_int_equal(hosts.all[1].workers, 0);
    assert_true(hosts.all[1].speed == 1);
    assert_string_equal(hosts.all[2].name, "n3");
    assert_int_equal(hosts.all[2].workers, 4);
    assert_true(hosts.all[2].speed == 2.5);
    hosts_release(&hosts);
    hosts = parsed("host slots=2\ngroup\n"); // names of hosts, as any other
    assert_int_equal(hosts.n, 2);
    assert_string_equal(hosts.all[0].name, "host");
    hosts_release(&hosts);
}

static void what_a_nodelist_cannot_say_is_refused(void **state)
{
    (void)state;
    expect_refusal("group other\nhost n1\n", "hosts: the file names no node");
    expect_refusal("group main\nhost n1 ++cpus\n",
                   "hosts:2: '++cpus' has no value");
    expect_refusal("host n1 ++cpus 0\n",
                   "hosts:1: slots= is '0'; allowed: 1 to 1024");
    expect_refusal("host n1 ++user me\n",
                   "hosts:1: '++user me' is not known; of a nodelist: group "
                   "NAME or host NAME, [++cpus N] [++speed S] [++shell ssh]");
    expect_refusal("group main ++shell rsh\nhost n1\n",
                   "hosts:1: '++shell rsh': give it to all hosts, with --ssh");
}

static void a_refusal_names_file_line_and_what_is_allowed(void **state)
{
    (void)state;
    expect_refusal("", "hosts: the file names no node");
    expect_refusal("# n1\n\n", "hosts: the file names no node");
    expect_refusal("n1\nspeed=3\n",
                   "hosts:2: a line begins with a name, not with 'speed=3'");
    expect_refusal("n1 sped=3\n",
                   "hosts:1: 'sped=3' is not known; a line is NAME [slots=N] "
                   "[workers=W] [speed=S] [memory=SIZE] [addr=IP]");
    expect_refusal("n1 n2\n",
                   "hosts:1: 'n2' is not known; a line is NAME [slots=N] "
                   "[workers=W] [speed=S] [memory=SIZE] [addr=IP]");
    expect_refusal("n1 slots=0\n",
                   "hosts:1: slots= is '0'; allowed: 1 to 1024");
    expect_refusal("n1\n\nn2 workers=2.5\n",
                   "hosts:3: workers= is '2.5'; allowed: 1 to 256");
    expect_refusal("n1 workers=\n",
                   "hosts:1: workers= is ''; allowed: 1 to 256");
    expect_refusal("n1 speed=0\n",
                   "hosts:1: speed= is '0'; allowed: 0.001 to 1000000000");
    expect_refusal("n1 speed=1e3\n",
                   "hosts:1: speed= is '1e3'; allowed: 0.001 to 1000000000");
    expect_refusal("n1 speed=1.2.3\n",
                   "hosts:1: speed= is '1.2.3'; allowed: 0.001 to 1000000000");
    expect_refusal("n1 memory=many\n",
                   "hosts:1: memory= is 'many'; allowed: 64K to 1024T; bytes, "
                   "or with K, M, G or T");
    expect_refusal("n1 memory=100\n",
                   "hosts:1: memory= is '100'; allowed: 64K to 1024T; bytes, "
                   "or with K, M, G or T");
    expect_refusal("n1 speed=1 speed=1\n", "hosts:1: speed= is there twice");
    expect_refusal("n1 slots=1 slots=2\n", "hosts:1: slots= is there twice");
    expect_refusal("n1 memory=1M memory=1M\n",
                   "hosts:1: memory= is there twice");
}

static void speeds_are_of_all_nodes_or_of_none(void **state)
{
    (void)state;
    expect_refusal("n1 speed=1\n\nn2\n",
                   "hosts:3: 'n2' has no speed=, the first node has one; give "
                   "it to all nodes or to none");
    expect_refusal("n1\nn2 speed=1\n",
                   "hosts:2: 'n2' has speed=, the first node has none; give it "
                   "to all nodes or to none");
}

static void any_bytes_are_refused_in_one_line(void **state)
{
    struct hosts hosts;
    char comment[4097] = "";
    char text[600];
    char error[256];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    expect_refusal(text, "hosts:1: the name is longer than 255 bytes");
    memset(comment, '#', sizeof comment - 1);
    expect_refusal(comment, "hosts:1: this is no line of text of at most 4095 "
                            "bytes; is it a hostfile?");
    memcpy(text, "n1 speed=\x1b[2J", 13);
    assert_int_equal(parse(text, &hosts, error, sizeof error), TM_ECONFIG);
    assert_null(strchr(error, '\x1b'));
    srand(1);
    for (int i = 0; i < 20000; i++) {
        static const char letters[] = "n1 =\n#speedmoryltwk0.9MGT\t";
        size_t length = 1 + (size_t)rand() % 60;

        for (size_t k = 0; k < length; k++) {
            text[k] = letters[(size_t)rand() % (sizeof letters - 1)];
        }
        text[length] = '\0';
        if (parse(text, &hosts, error, sizeof error) == TM_OK) {
            hosts_release(&hosts);
        } else {
            assert_null(strchr(error, '\n'));
        }
    }
}

static void an_address_is_one_in_numbers(void **state)
{
    struct hosts hosts = parsed("n1 addr=10.1.2.3\nn2 addr=fe80::1");

    (void)state;
    assert_string_equal(hosts.all[0].address, "10.1.2.3");
    assert_string_equal(hosts.all[1].address, "fe80::1");
    hosts_release(&hosts);
    expect_refusal("n1 addr=n1.example.org\n",
                   "hosts:1: addr= is 'n1.example.org'; allowed: an address "
                   "of the host, in numbers, like 192.168.1.7");
    expect_refusal("n1 addr=10.1.2.3 addr=10.1.2.3\n",
                   "hosts:1: addr= is there twice");
    expect_refusal("-oProxyCommand=x\n",
                   "hosts:1: a line begins with a name, not with "
                   "'-oProxyCommand=x'");
    expect_refusal("-x\n", "hosts:1: '-x' is no name of a host");
}

static void expect_list_refusal(const char *list, const char *expected)
{
    struct hosts hosts = {.n = 77};
    char error[256] = "";

    assert_int_equal(
        hosts_parse_list(list, "--hosts", &hosts, error, sizeof error),
        TM_ECONFIG);
    assert_string_equal(error, expected);
    assert_int_equal(hosts.n, 77);
}

static void a_list_has_a_number_of_nodes_for_each_host(void **state)
{
    static const char *const names[] = {"a", "b.example.org", "b.example.org",
                                        "a"};
    struct hosts hosts;
    char error[256] = "";

    (void)state;
    assert_int_equal(hosts_parse_list("a,b.example.org:2,a:1", "--hosts",
                                      &hosts, error, sizeof error),
                     TM_OK);
    assert_int_equal(hosts.n, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(hosts.all[i].name, names[i]);
    }
    hosts_release(&hosts);
    expect_list_refusal("", "--hosts: '' is no name of a host");
    expect_list_refusal("a,,b", "--hosts: '' is no name of a host");
    expect_list_refusal("a,-oX", "--hosts: '-oX' is no name of a host");
    expect_list_refusal("a:0", "--hosts: 'a:0': nodes on a host are 1 to 1024");
    expect_list_refusal("a:x", "--hosts: 'a:x': nodes on a host are 1 to 1024");
    expect_list_refusal("a:1000,b:25", "--hosts: more than 1024 nodes");
}

static void too_many_nodes_are_refused(void **state)
{
    char text[(TM_MAX_NODES + 1) * 2 + 1];
    struct hosts hosts;

    (void)state;
    for (unsigned i = 0; i <= TM_MAX_NODES; i++) {
        memcpy(&text[2 * i], "n\n", 3);
    }
    expect_refusal(text, "hosts:1025: more than 1024 nodes");
    text[TM_MAX_NODES * 2] = '\0';
    hosts = parsed(text);
    assert_int_equal(hosts.n, TM_MAX_NODES);
    hosts_release(&hosts);
}

static void this_machine_is_known_by_its_names(void **state)
{
    char own[300];

    (void)state;
    assert_int_equal(gethostname(own, 256), 0);
    assert_true(host_is_local("localhost"));
    assert_true(host_is_local("LocalHost"));
    assert_true(host_is_local("127.0.0.1"));
    assert_true(host_is_local(own));
    assert_false(host_is_local("n1.invalid"));
    assert_false(host_is_local(""));
    strcat(own, "x");
    assert_false(host_is_local(own));
}

static void what_the_file_says_becomes_variables(void **state)
{
    struct hosts hosts = parsed("n1 slots=3 speed=0.25 memory=45M\nn2 speed=1");

    (void)state;
    hosts.all[0].share = 0.125;
    setenv("TEAMSTER_MEMORY", "7M", 1);
    host_export(&hosts.all[1]);
    assert_string_equal(getenv("TEAMSTER_MEMORY"), "7M");
    assert_null(getenv("TEAMSTER_WORKERS"));
    assert_null(getenv("TEAMSTER_SHARE"));
    host_export(&hosts.all[0]);
    assert_string_equal(getenv("TEAMSTER_WORKERS"), "3");
    assert_string_equal(getenv("TEAMSTER_SPEED"), "0.250000000");
    assert_string_equal(getenv("TEAMSTER_MEMORY"), "47185920");
    assert_string_equal(getenv("TEAMSTER_SHARE"), "0.125000000");
    hosts_release(&hosts);
}

static void nodes_are_called_as_their_hosts_if_these_differ(void **state)
{
    static const char *const not_labels[] = {
        "n1\nn2\nn1",
        "a\n" // one that is too long
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"};
    struct hosts hosts = parsed("n1\nquick\nn0");

    (void)state;
    hosts_label(&hosts);
    assert_string_equal(hosts.all[0].label, "n1");
    assert_string_equal(hosts.all[1].label, "quick");
    assert_string_equal(hosts.all[2].label, "n0");
    unsetenv("TEAMSTER_NAME");
    host_export(&hosts.all[1]);
    assert_string_equal(getenv("TEAMSTER_NAME"), "quick");
    hosts_release(&hosts);
    for (unsigned k = 0; k < 2; k++) {
        hosts = parsed(not_labels[k]);
        hosts_label(&hosts);
        assert_string_equal(hosts.all[0].label, "");
        assert_string_equal(hosts.all[hosts.n - 1].label, "");
        unsetenv("TEAMSTER_NAME");
        host_export(&hosts.all[1]);
        assert_null(getenv("TEAMSTER_NAME"));
        hosts_release(&hosts);
    }
}

static void expect_share(double share, double expected)
{
    assert_true(share > expected - 1e-9 && share < expected + 1e-9);
}

static void together_they_use_four_fifths_of_the_machine(void **state)
{
    struct hosts hosts =
        parsed("n1 speed=500\nn2 speed=400\nn3 speed=400\nn4 speed=300");
    char error[256];

    (void)state;
    assert_int_equal(emulate_speeds(&hosts, 2, error, sizeof error), TM_OK);
    expect_share(hosts.all[0].share, 0.25);
    expect_share(hosts.all[1].share, 0.2);
    expect_share(hosts.all[2].share, 0.2);
    expect_share(hosts.all[3].share, 0.15);
    assert_int_equal(hosts.all[3].workers, 1);
    hosts_release(&hosts);
    hosts = parsed("n1 speed=2 workers=2\nn2 speed=1 slots=6");
    assert_int_equal(emulate_speeds(&hosts, 4, error, sizeof error), TM_OK);
    expect_share(hosts.all[0].share, 0.4 * 4 / 5);
    expect_share(hosts.all[1].share, 0.4 * 4 / 10);
    hosts_release(&hosts);
}

static void with_processors_to_spare_the_fastest_is_not_slowed(void **state)
{
    struct hosts hosts = parsed("n1 speed=3\nn2 speed=4");
    char error[256];

    (void)state;
    assert_int_equal(emulate_speeds(&hosts, 64, error, sizeof error), TM_OK);
    assert_int_equal(hosts.all[0].workers, 32);
    hosts_release(&hosts);
    hosts = parsed("n1 speed=3 workers=1\nn2 speed=4 workers=1");
    assert_int_equal(emulate_speeds(&hosts, 64, error, sizeof error), TM_OK);
    expect_share(hosts.all[0].share, 0.75);
    expect_share(hosts.all[1].share, 1);
    hosts_release(&hosts);
}

static void what_cannot_be_emulated_is_refused(void **state)
{
    struct hosts hosts =
        parsed("n1 speed=100000 workers=1\nn2 speed=1 workers=1");
    char error[256];

    (void)state;
    assert_int_equal(emulate_speeds(&hosts, 4, error, sizeof error),
                     TM_ECONFIG);
    assert_string_equal(error, "line 2: 'n2' with speed 1 would get 1e-05 of a "
                               "processor; at least 0.0001 can be emulated");
    hosts_release(&hosts);
    hosts = parsed("n1\nn2\n"); // equally fast: nothing to emulate
    assert_int_equal(emulate_speeds(&hosts, 2, error, sizeof error), TM_OK);
    expect_share(hosts.all[1].share, 1);
    hosts_release(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_a_node),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_pipe_is_read),
        cmocka_unit_test(nodelists_of_charm_are_read),
        cmocka_unit_test(what_a_nodelist_cannot_say_is_refused),
        cmocka_unit_test(a_refusal_names_file_line_and_what_is_allowed),
        cmocka_unit_test(speeds_are_of_all_nodes_or_of_none),
        cmocka_unit_test(any_bytes_are_refused_in_one_line),
        cmocka_unit_test(an_address_is_one_in_numbers),
        cmocka_unit_test(a_list_has_a_number_of_nodes_for_each_host),
        cmocka_unit_test(too_many_nodes_are_refused),
        cmocka_unit_test(this_machine_is_known_by_its_names),
        cmocka_unit_test(what_the_file_says_becomes_variables),
        cmocka_unit_test(nodes_are_called_as_their_hosts_if_these_differ),
        cmocka_unit_test(together_they_use_four_fifths_of_the_machine),
        cmocka_unit_test(with_processors_to_spare_the_fastest_is_not_slowed),
        cmocka_unit_test(what_cannot_be_emulated_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
