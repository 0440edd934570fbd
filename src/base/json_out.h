// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_JSON_OUT_H
#define BASE_JSON_OUT_H

#include <stdio.h>

/* Values of a JSON document. Context: any thread; blocks on the file. The locale's decimal
 * point must be that of "C". */

/** A text, in quotes. Bytes that are no UTF-8 become '?'. */
void json_put_text(FILE *file, const char *text);

/** A finite number, with all digits that bring it back: 17. -0 is written as -0.0, for "-0" is
 * an integer in JSON and loses its sign. */
void json_put_double(FILE *file, double value);

/** The same as a member of an object: its key before it. */
void json_put_text_field(FILE *file, const char *key, const char *text);
void json_put_double_field(FILE *file, const char *key, double value);

#endif
