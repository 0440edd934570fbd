// SPDX-License-Identifier: BSD-3-Clause
#include "agent_memory.h"

#include <stdio.h>

#include "memory_files.h"
#include "net/message.h"
#include "os/checkpoint_manifest.h"

#define NO_FOLDER "/dev/null"

static void send_file(void *owner, const struct wire_agent_file *file,
                      const char *text, size_t size)
{
    memory_send(owner, MUX_FILE, file, text, size);
}

static void send_part(struct mux *mux, const char *folder,
                      const struct wire_agent_file *from)
{
    static uint8_t bytes[MEMORY_PART];
    const ssize_t size = memory_read_part(folder, from, bytes, sizeof bytes);

    mux_send(mux, MUX_PART, 0, bytes, size > 0 ? (size_t)size : 0);
}

static void write_part(struct mux *mux, const char *folder,
                       const struct wire_agent_file *to,
                       const struct wire_reader *reader)
{
    const int error = memory_write_part(folder, to, reader->at,
                                        (size_t)(reader->end - reader->at));

    mux_send_number(mux, MUX_WRITTEN, 0, (uint32_t)error);
}

int agent_memory_obey(struct mux *mux, const char *folder,
                      const struct mux_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);
    struct wire_agent_file file = {0};
    char path[CHECKPOINT_PATH_MAX];

    // A host without /dev/shm has no folder: nothing is there, and nothing can be written.
    snprintf(path, sizeof path, "%s/" CHECKPOINT_IN_MEMORY,
             folder[0] != '\0' ? folder : NO_FOLDER);
    if (frame->kind != MUX_LIST) {
        file = wire_get_agent_file(&reader);
    }
    if (reader.failed) {
        return 0;
    }
    switch (frame->kind) {
    case MUX_LIST:
        memory_list(path, send_file, mux);
        mux_send(mux, MUX_LISTED, 0, NULL, 0);
        return 1;
    case MUX_READ:
        send_part(mux, path, &file);
        return 1;
    case MUX_WRITE:
        write_part(mux, path, &file, &reader);
        return 1;
    case MUX_KEEP:
        memory_keep(path, file.generation);
        return 1;
    default:
        return 0;
    }
}
