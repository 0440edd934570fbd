// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_WEB_ADDRESS_H
#define BASE_WEB_ADDRESS_H

#include <stdint.h>

/** Where a live page is to be found. */
struct web_address {
    int is_wanted;
    char host[64]; ///< an address in digits, without brackets
    uint16_t port; ///< 0: any that is free
};

/** What is allowed, in words. */
#define WEB_ADDRESS_ALLOWED                                                    \
    "none, auto, PORT, or ADDRESS:PORT with an address in digits ([::1]:8080)"

/**
 * Read what --web says.
 *
 * @param text      "none"; "auto": any free port of this machine for itself; "8080":
 *                  that one; "0.0.0.0:8080", "[::1]:8080": also from elsewhere
 * @param[out] at   undefined unless 1 is returned
 * @return 1, or 0 if the text is something else
 *
 * Context: any thread; pure.
 */
int web_address_read(const char *text, struct web_address *at);

#endif
