// SPDX-License-Identifier: BSD-3-Clause
//
// The code of a table of records (net/records.h), and how a body is looked through that
// consists of such: after this a row's `body` is statements that move `reader` to its end,
// or make it fail. `from` has the fields that TIMES() names.
#define get_u8 wire_get_u8
#define get_u16 wire_get_u16
#define get_u32 wire_get_u32
#define get_u64 wire_get_u64
#define get_text wire_get_string
#define get_bytes wire_get_sized
#define FIELD(width, name) record.name = get_##width(reader);
#define RECORD(name, fields)                                                   \
    struct wire_##name wire_get_##name(struct wire_reader *reader)             \
    {                                                                          \
        struct wire_##name record;                                             \
                                                                               \
        fields return record;                                                  \
    }
#include RECORDS

#define put_u8 wire_put_u8
#define put_u16 wire_put_u16
#define put_u32 wire_put_u32
#define put_u64 wire_put_u64
#define put_text wire_put_string
#define put_bytes wire_put_sized
#define FIELD(width, name) put_##width(writer, record->name);
#define RECORD(name, fields)                                                   \
    void wire_put_##name(struct wire_writer *writer,                           \
                         const struct wire_##name *record)                     \
    {                                                                          \
        fields                                                                 \
    }
#include RECORDS

#define NONE
#define BYTES reader.at = reader.end;
#define ONE(record) (void)wire_get_##record(&reader);
#define MANY(record)                                                           \
    while (wire_has_more(&reader)) {                                           \
        (void)wire_get_##record(&reader);                                      \
    }
#define TIMES(field, record)                                                   \
    for (unsigned i = 0; i < from->field && !reader.failed; i++) {             \
        (void)wire_get_##record(&reader);                                      \
    }

#undef RECORDS
