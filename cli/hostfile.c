// SPDX-License-Identifier: BSD-3-Clause
// Hostfiles. A file that is wrong is refused as a whole, with the line: to run on
// other nodes than the user meant would cost more than to ask.
#include "hostfile.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/reading.h"
#include "base/text.h"
#include "base/vector.h"
#include "nodelist.h"
#include "os/descriptor.h"

#define BLANKS " \t\r\n\v\f"

/** Of what is no file. */
#define NO_LINE UINT_MAX

/** Of a line, with its end: a device or a program that was named by mistake has longer
 * ones. */
#define LINE_MAX_SIZE 4096

/** A pipe in a folder waits so long for somebody to write to it. */
#define WRITER_MS 3000

/** Where in the file, and what to say of it. */
struct place {
    const char *path;
    unsigned line;
    char *error;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static tm_status refuse(
    const struct place *place, const char *format, ...)
{
    struct text error = {place->error, place->size, 0};
    va_list arguments;

    text_add(&error, "%s:", place->path);
    if (place->line != NO_LINE) {
        text_add(&error, "%u:", place->line);
    }
    text_add(&error, " ");
    va_start(arguments, format);
    text_add_list(&error, format, arguments);
    va_end(arguments);
    for (char *c = place->error; *c != '\0'; c++) {
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    }
    return TM_ECONFIG;
}

// ---- what a line says of a node ----

static int read_slots(struct reading *reading, struct host *host)
{
    return reading_unsigned(reading, 1, TM_MAX_NODES, &host->slots);
}

static int read_workers(struct reading *reading, struct host *host)
{
    return reading_unsigned(reading, 1, WORKERS_MAX, &host->workers);
}

static int read_speed(struct reading *reading, struct host *host)
{
    snprintf(reading->allowed, sizeof reading->allowed, "%g to %.0f", SPEED_MIN,
             SPEED_MAX);
    return parse_decimal(reading->text, &host->speed) == TM_OK &&
           host->speed >= SPEED_MIN && host->speed <= SPEED_MAX;
}

static int read_memory(struct reading *reading, struct host *host)
{
    return reading_bytes(reading, NULL, MEMORY_MIN, MEMORY_MAX, &host->memory);
}

static int read_address(struct reading *reading, struct host *host)
{
    struct in6_addr bytes;

    snprintf(reading->allowed, sizeof reading->allowed,
             "an address of the host, in numbers, like 192.168.1.7");
    if (strlen(reading->text) >= sizeof host->address ||
        (inet_pton(AF_INET, reading->text, &bytes) != 1 &&
         inet_pton(AF_INET6, reading->text, &bytes) != 1)) {
        return 0;
    }
    snprintf(host->address, sizeof host->address, "%s", reading->text);
    return 1;
}

// ---- what a simulation asks

static int read_rate(struct reading *reading, double *bytes_per_s)
{
    uint64_t bytes = 0;

    if (!reading_bytes(reading, NULL, 1024, UINT64_C(1) << 40, &bytes)) {
        return 0;
    }
    *bytes_per_s = (double)bytes;
    return 1;
}

static int read_time(struct reading *reading, const char *unit, double *value)
{
    snprintf(reading->allowed, sizeof reading->allowed, "0 to 1000000 %s",
             unit);
    return parse_decimal(reading->text, value) == TM_OK && *value >= 0 &&
           *value <= 1e6;
}

static int read_net_rate(struct reading *reading, struct host *host)
{
    return read_rate(reading, &host->lab.net_bytes_per_s);
}

static int read_net_us(struct reading *reading, struct host *host)
{
    return read_time(reading, "us", &host->lab.net_us);
}

static int read_disk_rate(struct reading *reading, struct host *host)
{
    return read_rate(reading, &host->lab.disk_bytes_per_s);
}

static int read_disk_ms(struct reading *reading, struct host *host)
{
    return read_time(reading, "ms", &host->lab.disk_ms);
}

// FROM:SHARE, one of several. @param[in,out] text  behind it
static int read_one_load(const char **text, struct host_lab *lab)
{
    struct host_load *load = &lab->loads[lab->n_loads];
    int n = 0;

    if (lab->n_loads == HOST_LOADS_MAX ||
        sscanf(*text, "%lf:%lf%n", &load->from_s, &load->share, &n) != 2 ||
        !(load->from_s >= 0 && load->from_s <= 1e6) ||
        !(load->share >= 0.001 && load->share <= 1) ||
        (lab->n_loads > 0 && load->from_s <= load[-1].from_s)) {
        return 0;
    }
    lab->n_loads++;
    *text += n;
    return 1;
}

static int read_load(struct reading *reading, struct host *host)
{
    const char *text = reading->text;

    snprintf(reading->allowed, sizeof reading->allowed,
             "FROM:SHARE,..., seconds that rise and what is left, 0.001 to 1");
    while (read_one_load(&text, &host->lab)) {
        if (*text == '\0') {
            return 1;
        }
        if (*text++ != ',') {
            return 0;
        }
    }
    return 0;
}

static const struct key {
    const char *name;
    int (*read)(struct reading *reading, struct host *host);
} keys[] = {
    {"slots", read_slots},     {"workers", read_workers},
    {"speed", read_speed},     {"memory", read_memory},
    {"addr", read_address},    {"net-rate", read_net_rate},
    {"net-us", read_net_us},   {"disk-rate", read_disk_rate},
    {"disk-ms", read_disk_ms}, {"load", read_load},
};

enum { N_KEYS = sizeof keys / sizeof keys[0] };

/** Take one word behind the name.
 * @param[in,out] given  a bit for each key that the line has had */
static tm_status take_word(const struct place *place, const char *word,
                           struct host *host, unsigned *given)
{
    const size_t length = strcspn(word, "=");
    struct reading reading = {.text = word + length + 1};
    unsigned i = 0;

    while (i < N_KEYS && (strlen(keys[i].name) != length ||
                          strncmp(keys[i].name, word, length) != 0)) {
        i++;
    }
    if (i == N_KEYS || word[length] == '\0') {
        return refuse(place,
                      "'%s' is not known; a line is NAME [slots=N] [workers=W] "
                      "[speed=S] [memory=SIZE] [addr=IP]",
                      word);
    }
    if (*given >> i & 1) {
        return refuse(place, "%s= is there twice", keys[i].name);
    }
    *given |= 1u << i;
    if (!keys[i].read(&reading, host)) {
        return refuse(place, "%s= is '%s'; allowed: %s", keys[i].name,
                      reading.text, reading.allowed);
    }
    return TM_OK;
}

/** @return TM_OK, also for a line without a node; then host->name is empty */
static tm_status take_line(const struct place *place, char *line,
                           struct host *host)
{
    char *rest = NULL;
    char *word;
    unsigned given = 0;
    tm_status status = TM_OK;

    *host = (struct host){
        .line = place->line, .share = 1, .lab = {-1, -1, -1, -1, {{0}}, 0}};
    word = strtok_r(line, BLANKS, &rest);
    if (word == NULL) {
        return TM_OK;
    }
    if (strchr(word, '=') != NULL) {
        return refuse(place, "a line begins with a name, not with '%s'", word);
    }
    if (strlen(word) >= sizeof host->name) {
        return refuse(place, "the name is longer than %zu bytes",
                      sizeof host->name - 1);
    }
    memcpy(host->name, word, strlen(word) + 1);
    if (host->name[0] == '-') {
        return refuse(place, "'%s' is no name of a host", host->name);
    }
    while (status == TM_OK && (word = strtok_r(NULL, BLANKS, &rest)) != NULL) {
        status = take_word(place, word, host, &given);
    }
    host->workers = host->workers != 0 ? host->workers : host->slots;
    return status;
}

/** The same of a line that may be one of a Charm++ nodelist. */
static tm_status take_any_line(const struct place *place,
                               struct nodelist *nodelist, char *line,
                               struct host *host)
{
    char text[512];

    line[strcspn(line, "#")] = '\0';
    switch (nodelist_translate(nodelist, line, text, sizeof text)) {
    case NODELIST_WRONG:
        return refuse(place, "%s", text);
    case NODELIST_EMPTY:
        *host = (struct host){0};
        return TM_OK;
    case NODELIST_HOST:
        return take_line(place, text, host);
    default:
        return take_line(place, line, host);
    }
}

static tm_status add(struct hosts *hosts, unsigned n_most,
                     const struct host *host, const struct place *place)
{
    if (hosts->n == n_most) {
        return refuse(place, "more than %u nodes", n_most);
    }
    vector_reserve(hosts->all, hosts->n_room, hosts->n + 1);
    hosts->all[hosts->n++] = *host;
    return TM_OK;
}

/** Either all nodes have a speed or none: beside what would one be fast? */
static tm_status check_speeds(const struct hosts *hosts, struct place *place)
{
    for (unsigned i = 1; i < hosts->n; i++) {
        const struct host *host = &hosts->all[i];

        if ((host->speed != 0) != (hosts->all[0].speed != 0)) {
            place->line = host->line;
            return refuse(place,
                          "'%s' %s speed=, the first node %s; give it to all "
                          "nodes or to none",
                          host->name, host->speed != 0 ? "has" : "has no",
                          host->speed != 0 ? "has none" : "has one");
        }
    }
    return TM_OK;
}

/** The next line, without its end.
 * @param[out] line  [LINE_MAX_SIZE]
 * @return 1, 0 at the end of the file, -1 if it is too long or holds a zero */
static int read_line(FILE *file, char *line)
{
    size_t n = 0;
    int c;

    while ((c = getc(file)) != EOF && c != '\n') {
        if (c == '\0' || n + 1 == LINE_MAX_SIZE) {
            return -1;
        }
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return n > 0 || c != EOF;
}

tm_status hosts_parse(FILE *file, const char *path, unsigned n_most,
                      struct hosts *hosts, char *error, size_t size)
{
    struct place place = {path, 0, error, size};
    struct hosts found = {0};
    struct nodelist nodelist = {0};
    struct host host;
    char line[LINE_MAX_SIZE];
    tm_status status = TM_OK;
    int n_read;

    while (status == TM_OK && (n_read = read_line(file, line)) != 0) {
        place.line++;
        status = n_read < 0 ? refuse(&place,
                                     "this is no line of text of at "
                                     "most %d bytes; is it a hostfile?",
                                     LINE_MAX_SIZE - 1)
                            : take_any_line(&place, &nodelist, line, &host);
        if (status == TM_OK && host.name[0] != '\0') {
            status = add(&found, n_most, &host, &place);
        }
    }
    if (status == TM_OK && found.n == 0) {
        place.line = NO_LINE;
        status = refuse(&place, "the file names no node");
    }
    if (status == TM_OK) {
        status = check_speeds(&found, &place);
    }
    if (status != TM_OK) {
        hosts_release(&found);
        return status;
    }
    *hosts = found;
    return TM_OK;
}

/** Take NAME[:NODES]. */
static tm_status take_item(const struct place *place, char *item,
                           struct hosts *hosts)
{
    struct host host = {.share = 1};
    char *colon = strrchr(item, ':');
    struct reading nodes;
    unsigned n_nodes = 1;
    tm_status status = TM_OK;

    if (colon != NULL) {
        *colon = '\0';
        nodes.text = colon + 1;
        if (!reading_unsigned(&nodes, 1, TM_MAX_NODES, &n_nodes)) {
            return refuse(place, "'%s:%s': nodes on a host are %s", item,
                          nodes.text, nodes.allowed);
        }
    }
    if (item[0] == '\0' || item[0] == '-' || strlen(item) >= sizeof host.name) {
        return refuse(place, "'%s' is no name of a host", item);
    }
    memcpy(host.name, item, strlen(item) + 1);
    while (status == TM_OK && n_nodes-- > 0) {
        status = add(hosts, TM_MAX_NODES, &host, place);
    }
    return status;
}

tm_status hosts_parse_list(const char *list, const char *option,
                           struct hosts *hosts, char *error, size_t size)
{
    const struct place place = {option, NO_LINE, error, size};
    struct hosts found = {0};
    char *copy = strdup(list);
    char *rest = copy;
    char *item;
    tm_status status = copy != NULL ? TM_OK : TM_ENOMEM;

    while (status == TM_OK && (item = strsep(&rest, ",")) != NULL) {
        status = take_item(&place, item, &found);
    }
    free(copy);
    if (status != TM_OK) {
        hosts_release(&found);
        return status;
    }
    *hosts = found;
    return TM_OK;
}

/** Has a pipe no writer? One that has may take its time: <(...) of a shell.
 * @param first  what had to be read to know that, EOF if nothing */
static int is_deserted(int fd, int *first)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};
    unsigned char byte;
    ssize_t n;

    if (poll(&set, 1, WRITER_MS) != 0) {
        return 0;
    }
    n = read(fd, &byte, 1);
    *first = n == 1 ? byte : EOF;
    return n == 0;
}

/** Without waiting for ever. @return NULL with `why` */
static FILE *open_file(const char *path, const char **why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int first = EOF;
    struct stat state;
    FILE *file;

    *why = NULL;
    if (fd < 0 || fstat(fd, &state) != 0) {
        *why = strerror(errno);
    } else if (S_ISDIR(state.st_mode)) {
        *why = strerror(EISDIR);
    } else if (S_ISFIFO(state.st_mode) && is_deserted(fd, &first)) {
        *why = "it is a pipe, and nobody writes to it";
    }
    if (*why != NULL) {
        descriptor_close(fd);
        return NULL;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    file = fdopen(fd, "r");
    if (file == NULL) {
        *why = strerror(errno);
        descriptor_close(fd);
    } else if (first != EOF) {
        ungetc(first, file);
    }
    return file;
}

tm_status hosts_read(const char *path, unsigned n_most, struct hosts *hosts,
                     char *error, size_t size)
{
    const char *why;
    FILE *file = open_file(path, &why);
    tm_status status;

    if (file == NULL) {
        snprintf(error, size, "%s: %s", path, why);
        return TM_ECONFIG;
    }
    status = hosts_parse(file, path, n_most, hosts, error, size);
    fclose(file);
    return status;
}

void hosts_label(struct hosts *hosts)
{
    for (unsigned i = 0; i < hosts->n; i++) {
        if (strlen(hosts->all[i].name) >= sizeof hosts->all[i].label) {
            return;
        }
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(hosts->all[i].name, hosts->all[j].name) == 0) {
                return;
            }
        }
    }
    for (unsigned i = 0; i < hosts->n; i++) {
        memcpy(hosts->all[i].label, hosts->all[i].name,
               strlen(hosts->all[i].name) + 1);
    }
}

void hosts_release(struct hosts *hosts)
{
    free(hosts->all);
    *hosts = (struct hosts){0};
}

int host_is_local(const char *name)
{
    static const char *const usual[] = {"localhost", "127.0.0.1", "::1"};
    char own[HOST_NAME_MAX + 1];
    size_t length = strcspn(name, ".");

    for (unsigned i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (strcasecmp(name, usual[i]) == 0) {
            return 1;
        }
    }
    if (gethostname(own, sizeof own) != 0) {
        return 0;
    }
    // The machine may know itself with or without its domain.
    return strcasecmp(name, own) == 0 ||
           (strcspn(own, ".") == length &&
            (own[length] == '\0' || name[length] == '\0') &&
            strncasecmp(name, own, length) == 0);
}

__attribute__((format(printf, 2, 3))) static void set(const char *variable,
                                                      const char *format, ...)
{
    char text[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    setenv(variable, text, 1);
}

void host_export(const struct host *host)
{
    if (host->label[0] != '\0') {
        set("TEAMSTER_NAME", "%s", host->label);
    }
    if (host->workers != 0) {
        set("TEAMSTER_WORKERS", "%u", host->workers);
    }
    if (host->speed != 0) {
        set("TEAMSTER_SPEED", "%.9f", host->speed);
    }
    if (host->memory != 0) {
        set("TEAMSTER_MEMORY", "%" PRIu64, host->memory);
    }
    if (host->share < 1) {
        set("TEAMSTER_SHARE", "%.9f", host->share);
    }
}
