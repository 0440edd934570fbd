// SPDX-License-Identifier: BSD-3-Clause
#include "base/web_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/reading.h"

// @return 0 if it is no port
static int read_port(const char *text, uint16_t *port)
{
    struct reading reading = {.text = text};
    unsigned number;

    if (!reading_unsigned(&reading, 0, UINT16_MAX, &number)) {
        return 0;
    }
    *port = (uint16_t)number;
    return 1;
}

static int is_address(const char *text, int family)
{
    struct in6_addr address;

    return inet_pton(family, text, &address) == 1;
}

// "[::1]:8080"
static int read_bracketed(const char *text, struct web_address *at)
{
    const size_t n = strcspn(text + 1, "]");

    if (n >= sizeof at->host || strncmp(text + 1 + n, "]:", 2) != 0) {
        return 0;
    }
    snprintf(at->host, sizeof at->host, "%.*s", (int)n, text + 1);
    return is_address(at->host, AF_INET6) && read_port(text + n + 3, &at->port);
}

int web_address_read(const char *text, struct web_address *at)
{
    const char *colon = strchr(text, ':');

    *at = (struct web_address){.is_wanted = 1, .host = "127.0.0.1"};
    if (strcmp(text, "none") == 0) {
        at->is_wanted = 0;
        return 1;
    }
    if (strcmp(text, "auto") == 0) {
        return 1;
    }
    if (text[0] == '[') {
        return read_bracketed(text, at);
    }
    if (colon == NULL) {
        return read_port(text, &at->port);
    }
    snprintf(at->host, sizeof at->host, "%.*s", (int)(colon - text), text);
    return is_address(at->host, AF_INET) && read_port(colon + 1, &at->port);
}
