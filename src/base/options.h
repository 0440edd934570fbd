// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/thread_counts.h"
#include "base/web_address.h"

struct option_row;
struct options;
struct reading;

/** A type of option: how a value becomes its field. @return 1, or 0 with what is allowed
 * in `reading` */
typedef int option_read_fn(const struct option_row *row,
                           struct reading *reading, struct options *options);

/** Who has a value of it. */
enum option_owner {
    OPTION_OF_THE_RUN,
    OPTION_OF_A_NODE,
    OPTION_OF_THE_LAUNCHER,
};

/** One row of base/options.def. */
struct option_row {
    const char *name;     ///< without the dashes
    const char *variable; ///< TEAMSTER_...
    char letter;          ///< 0 if it has none
    const char *argument; ///< NULL for a switch
    const char *default_value;
    const char *help;
    size_t offset; ///< of its field in struct options
    size_t size;   ///< of that
    enum option_owner owner;
    const char
        *bare; ///< its value if it is given without one; NULL: it needs one
    option_read_fn *read;
    // What the type needs of these:
    uint64_t low;
    uint64_t high;
    const char *word; ///< stands for 0; of a path: what is allowed, in words
    const char *unit; ///< behind the limits in a message
    const char *const *words; ///< NULL behind the last
    int (*parse)(struct reading *reading, struct options *options);
};

extern const struct option_row option_rows[];
extern const unsigned n_option_rows;

/** The most that --max-threads may be; slots of threads are 0 to that. */
#define OPTIONS_MAX_THREADS 1000000

/** What the launcher has nodes read for `--buddy=auto` when it has decided so. */
#define OPTIONS_BUDDY_TRIED "ample"
/** Of --buddy, where --recover does not say another number. */
#define OPTIONS_BUDDY_RECOVERIES 3u

/** The options of a run, parsed. */
struct options {
    unsigned nodes;
    unsigned workers;   ///< 0: auto
    char hostfile[512]; ///< "none": none
    char hosts[4096];   ///< "none": none
    char ssh[512];      ///< words with blanks between them
    int emulate;
    enum { EMULATE_BY_DUTY, EMULATE_BY_CGROUP } emulate_by;
    double speed;         ///< in any unit; 0: not declared
    double share;         ///< of a processor, above 0, at most 1
    uint64_t memory;      ///< bytes; 0: not declared
    tm_protocol protocol; ///< never TM_PROTOCOL_DEFAULT
    size_t stack_size;    ///< bytes
    unsigned max_threads;
    char fault_source[16]; ///< "auto", "userfaultfd", "mprotect"
    char swap_dir[512];    ///< "auto", or a path that begins with /
    uint64_t swap_rate;    ///< bytes a second; 0: as fast as the disk
    uint64_t swap_max;     ///< bytes; 0: as much as the disk takes
    enum {
        MEMORY_BY_RUNTIME,
        MEMORY_BY_KERNEL,
        MEMORY_BY_KERNEL_PLAIN,
    } memory_by;
    size_t space; ///< bytes
    struct checkpoint_option {
        char folder[1024]; ///< "": none
        unsigned seconds;  ///< from one to the next; 0: iterations count
        unsigned iterations;
        int is_compressed; ///< where it pays
    } checkpoint;
    int buddy;          ///< checkpoints are in the memory of hosts
    int buddy_is_auto;  ///< the launcher decides
    int buddy_is_tried; ///< it has: what cannot be saved is no reason to say so
    unsigned checkpoint_before; ///< seconds before the time limit; 0: none
    char restart[1024];         ///< "none": none
    unsigned recover;           ///< tries from one checkpoint; 0: none
    enum output_when { OUTPUT_SHOWN, OUTPUT_HELD } output;
    char spare[4096]; ///< "none": none
    int race_check;
    int strict;
    int tag_output;
    enum { DEADLOCK_ABORT, DEADLOCK_WARN, DEADLOCK_OFF } deadlock;
    unsigned deadlock_after; ///< seconds
    unsigned peer_timeout;   ///< seconds; 0: never
    struct {
        uint16_t first; ///< 0: any
        uint16_t last;
    } port_range;
    int trust_network;
    enum { FABRIC_BY_TCP, FABRIC_BY_UCX } fabric; ///< between hosts
    char policy[16];
    char model[16];
    struct thread_counts counts;
    enum { MOVE_AT_ITERATIONS, MOVE_AT_BARRIERS } move_at;
    enum { FIRST_KNOWN, FIRST_EQUAL } first_mapping;
    char save_profile[1024]; ///< "": none
    char trace[1024];        ///< "none": none
    struct {
        char place[96];  ///< "": none is wanted
        char file[1024]; ///< "": as text, on stderr
    } story;
    char report[1024];      ///< "none": none
    char status_file[1024]; ///< "none": none
    enum progress_when { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF } progress;
    struct web_address web;
    int explain;
    int stats;
    int verbose;
    uint64_t shuffle;
    struct {
        unsigned iteration; ///< 0: none
        int repeats;        ///< each time that many have passed
        char file[192];     ///< "": none
    } track;
};

/**
 * Read all options from their variables, defaults where a variable is not set.
 * @param[out] error  [size] one line that names variable, value and what is
 *                    allowed; set on failure
 * @return TM_OK, TM_ECONFIG
 */
TM_CHECKED tm_status options_read(struct options *options, char *error,
                                  size_t size);

/** Are there two options that do not go together?
 * @param options    as options_read() gives them
 * @param[out] text  [size] one line that says why, if so
 * @return 1, 0 */
int options_contradict(const struct options *options, char *text, size_t size);

/** What speed= and memory= may be, of options and in hostfiles. */
#define SPEED_MIN 0.001
#define SPEED_MAX 1e9
#define MEMORY_MIN ((uint64_t)64 << 10)
#define MEMORY_MAX ((uint64_t)1 << 50)
enum { WORKERS_MAX = 256 };

/** The least share of a processor that can be emulated. */
#define SHARE_MIN 0.0001

#endif
