// SPDX-License-Identifier: BSD-3-Clause
//
// /sys/class/net/CARD/device/infiniband/ has a folder for each RDMA device of the card's,
// and dev_port says which of its ports the card is, counted from 0; UCX counts from 1.
// (dev_id says that of older InfiniBand cards, in which dev_port stays 0.)
#include "os/rdma.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned read_number(const char *folder, const char *card,
                            const char *name)
{
    char path[512];
    char line[32] = "0";
    FILE *file;

    snprintf(path, sizeof path, "%s/%s/%s", folder, card, name);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)fgets(line, sizeof line, file);
        fclose(file);
    }
    return (unsigned)strtoul(line, NULL, 0);
}

static unsigned port_of(const char *folder, const char *card)
{
    unsigned port = read_number(folder, card, "dev_port");

    return 1 + (port != 0 ? port : read_number(folder, card, "dev_id"));
}

static void append_device(const char *device, unsigned port, char *text,
                          size_t size)
{
    size_t used = strlen(text);
    int length = snprintf(text + used, size - used, ",%s:%u", device, port);

    if (length < 0 || (size_t)length >= size - used) {
        text[used] = '\0';
    }
}

void rdma_devices_in(const char *folder, const char *card, char *text,
                     size_t size)
{
    char path[512];
    const struct dirent *entry;
    DIR *devices;

    snprintf(text, size, "%s", card);
    snprintf(path, sizeof path, "%s/%s/device/infiniband", folder, card);
    devices = opendir(path);
    while (devices != NULL && (entry = readdir(devices)) != NULL) {
        if (entry->d_name[0] != '.') {
            append_device(entry->d_name, port_of(folder, card), text, size);
        }
    }
    if (devices != NULL) {
        closedir(devices);
    }
}

void rdma_devices_of(const char *card, char *text, size_t size)
{
    rdma_devices_in("/sys/class/net", card, text, size);
}
