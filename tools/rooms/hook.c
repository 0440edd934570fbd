// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded into programs that are compiled with -finstrument-functions: notes which
// functions are entered while ROOMS_CONTROL, a file that all processes map, has a phase.
// Each process writes a file beside it; rooms.py reads them.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIDDEN __attribute__((no_instrument_function))

enum { N_PHASES = 8, N_FUNCTIONS = 1 << 13 };

struct notes {
    char maps[1 << 16];
    _Atomic uint64_t functions[N_PHASES][N_FUNCTIONS];
};

static const _Atomic uint32_t *phase_now;
static struct notes *notes;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

HIDDEN static void *map_file(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at;

    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        abort();
    }
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? abort(), NULL : at;
}

HIDDEN __attribute__((constructor)) static void open_notes(void)
{
    const char *control = getenv("ROOMS_CONTROL");
    char path[512];
    int fd;

    if (control == NULL) {
        return;
    }
    snprintf(path, sizeof path, "%s.%d", control, (int)getpid());
    phase_now = map_file(control, 4096);
    notes = map_file(path, sizeof *notes);
    fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (size_t n = 0; n < sizeof notes->maps - 1;) {
        ssize_t more = read(fd, notes->maps + n, sizeof notes->maps - 1 - n);

        if (more <= 0) {
            break;
        }
        n += (size_t)more;
    }
    close(fd);
}

HIDDEN void __cyg_profile_func_enter(void *function, void *site)
{
    const uint32_t phase = notes == NULL ? 0 : atomic_load(phase_now);
    const uint64_t entered = (uint64_t)function;

    (void)site;
    if (phase == 0 || phase >= N_PHASES) {
        return;
    }
    for (uint64_t place = entered >> 4;; place++) {
        _Atomic uint64_t *entry = &notes->functions[phase][place % N_FUNCTIONS];
        uint64_t there = 0;

        if (atomic_load(entry) == entered ||
            atomic_compare_exchange_strong(entry, &there, entered) ||
            there == entered) {
            return;
        }
    }
}

HIDDEN void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
