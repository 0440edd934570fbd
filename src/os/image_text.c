// SPDX-License-Identifier: BSD-3-Clause
//
// Where code lies, for the fault handler and for reports. The ranges are read
// once, because the loader's tables may be locked by the very code that faults;
// code that is loaded later is unknown.
//
// Reports are made by a process that is ending, perhaps in the middle of
// malloc(): no memory is allocated, and the child is made by the system call,
// without the C library's preparations for fork().
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "os/descriptor.h"
#include "os/image.h"

enum { MAX_TEXTS = 256, DEADLINE_MS = 5000 };

struct text {
    uintptr_t low;
    uintptr_t high;
    uintptr_t base;   // what addresses in the file are relative to
    const char *path; // of the loader
    int is_program;
};

static struct text texts[MAX_TEXTS];
static unsigned n_texts;
static char program_path[4096];

static int add_texts(struct dl_phdr_info *object, size_t size, void *data)
{
    int *n_objects = data;
    int is_program = *n_objects == 0;

    (void)size;
    *n_objects += 1;
    for (int i = 0; i < object->dlpi_phnum && n_texts < MAX_TEXTS; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t low = object->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            texts[n_texts++] = (struct text){
                .low = low,
                .high = low + segment->p_memsz,
                .base = object->dlpi_addr,
                .path = is_program ? program_path : object->dlpi_name,
                .is_program = is_program,
            };
        }
    }
    return 0;
}

tm_status image_init(void)
{
    int n_objects = 0;
    ssize_t length =
        readlink("/proc/self/exe", program_path, sizeof program_path - 1);

    if (length < 0) {
        log_error("cannot read /proc/self/exe: %m");
        return TM_ESYSTEM;
    }
    program_path[length] = '\0';
    n_texts = 0;
    dl_iterate_phdr(add_texts, &n_objects);
    if (n_texts == MAX_TEXTS) {
        log_warning("more than %d pieces of code; reports will not name all",
                    MAX_TEXTS);
    }
    return TM_OK;
}

static const struct text *find_text(uintptr_t pc)
{
    for (unsigned i = 0; i < n_texts; i++) {
        if (pc >= texts[i].low && pc < texts[i].high) {
            return &texts[i];
        }
    }
    return NULL;
}

int image_is_program_text(uintptr_t pc)
{
    const struct text *text = find_text(pc);

    return text != NULL && text->is_program;
}

const char *image_file_name(uintptr_t pc)
{
    Dl_info info;
    const char *slash;

    if (dladdr((void *)pc, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

static _Noreturn void exec_addr2line(const char *path, uintptr_t offset,
                                     int output)
{
    char address[32];
    char *arguments[] = {"addr2line", "-f", "-e", (char *)path, address, NULL};
    int null = descriptor_open_null();

    snprintf(address, sizeof address, "0x%lx", (unsigned long)offset);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
        dup2(null, STDERR_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0) {
        execvp(arguments[0], arguments);
    }
    _exit(127);
}

// Ends when the child has closed its output, or after DEADLINE_MS.
static size_t read_until_end(int fd, char *output, size_t size)
{
    uint64_t deadline_ns = clock_now_ns() + DEADLINE_MS * 1000000ull;
    size_t used = 0;

    while (used < size - 1 && clock_now_ns() < deadline_ns) {
        struct pollfd input = {.fd = fd, .events = POLLIN};
        ssize_t n = -1;

        if (poll(&input, 1, 100) > 0) {
            n = read(fd, output + used, size - 1 - used);
            if (n == 0) {
                break;
            }
        }
        used += n > 0 ? (size_t)n : 0;
    }
    output[used] = '\0';
    return used;
}

static size_t run_addr2line(const char *path, uintptr_t offset, char *output,
                            size_t size)
{
    int ends[2];
    size_t used;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return 0;
    }
    child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        exec_addr2line(path, offset, ends[1]);
    }
    close(ends[1]);
    used = child > 0 ? read_until_end(ends[0], output, size) : 0;
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return used;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

// "function\n/a/file.c:12 (discriminator 3)\n"; what is unknown is "??".
static int parse_addr2line(char *output, char **function, char **place)
{
    char *newline = strchr(output, '\n');

    if (newline == NULL || output[0] == '?') {
        return 0;
    }
    *newline = '\0';
    *function = output;
    *place = newline + 1;
    (*place)[strcspn(*place, " \n")] = '\0';
    return 1;
}

void image_describe(uintptr_t pc, char *text, size_t size)
{
    const struct text *found = find_text(pc);
    char output[512];
    char relative[128];
    char *function;
    char *place;

    if (found == NULL) {
        snprintf(text, size, "0x%lx", (unsigned long)pc);
        return;
    }
    snprintf(relative, sizeof relative, "%s+0x%lx", base_name(found->path),
             (unsigned long)(pc - found->base));
    if (run_addr2line(found->path, pc - found->base, output, sizeof output) ==
            0 ||
        !parse_addr2line(output, &function, &place)) {
        snprintf(text, size, "%s", relative);
    } else if (place[0] == '?' || place[0] == '\0') {
        snprintf(text, size, "%s (%s)", function, relative);
    } else {
        snprintf(text, size, "%s (%s)", function, base_name(place));
    }
}
