// SPDX-License-Identifier: BSD-3-Clause
//
// Included by whoever has a table of records, RECORD(name, fields), as in net/messages.def,
// with RECORDS as its name; once for each table. Of each record there are then
//   struct wire_NAME
//   WIRE_SIZE_NAME                bytes on the wire; texts and bytes count as empty
//   wire_get_NAME(reader)         zeros if the bytes end before it does; its texts and
//                                 bytes point into them
//   wire_put_NAME(writer, &record)
// whose code is in the file that includes net/records_code.h with the same RECORDS.
#define FIELD(width, name) wire_##width name;
#define RECORD(name, fields)                                                   \
    struct wire_##name {                                                       \
        fields                                                                 \
    };
#include RECORDS

enum {
#define FIELD(width, name) +WIRE_SIZE_##width
#define RECORD(name, fields) WIRE_SIZE_##name = 0 fields,
#include RECORDS
};

#define RECORD(name, fields)                                                   \
    struct wire_##name wire_get_##name(struct wire_reader *reader);            \
    void wire_put_##name(struct wire_writer *writer,                           \
                         const struct wire_##name *record);
#include RECORDS

#undef RECORDS
