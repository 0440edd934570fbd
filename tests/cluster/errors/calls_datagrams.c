// SPDX-License-Identifier: BSD-3-Clause
//
// Messages whose header, name and control bytes are in shared memory.
#include "calls.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

struct letter {
    struct msghdr header;
    struct iovec part;
    struct sockaddr_un name;
    socklen_t name_size;
    char bytes[100];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void *touch_letter(void *letter)
{
    volatile char *bytes = letter;

    for (size_t i = 0; i < sizeof(struct letter); i++) {
        bytes[i] = bytes[i]; // the page is there now, and not here
    }
    return NULL;
}

static void send_away(struct letter *letter)
{
    tm_thread_attr attr = {.placement = TM_ON_NODE,
                           .node = tm_node_count() - 1};
    tm_thread thread;

    CHECK(tm_thread_create(&thread, &attr, touch_letter, letter) == TM_OK);
    CHECK(tm_thread_join(thread, NULL) == TM_OK);
}

static socklen_t bind_to(int fd, struct sockaddr_un *name)
{
    socklen_t name_size = sizeof *name;

    // The kernel chooses a name.
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    CHECK(bind(fd, (struct sockaddr *)name, sizeof name->sun_family) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)name, &name_size) == 0);
    return name_size;
}

static void run_names(struct letter *letter, const struct sockaddr_un *from,
                      socklen_t from_size)
{
    send_away(letter);
    CHECK(sendto(ends[0], letter->bytes, 10, 0,
                 (struct sockaddr *)&letter->name, letter->name_size) == 10);
    letter->name = (struct sockaddr_un){0};
    letter->name_size = sizeof letter->name;
    send_away(letter);
    CHECK(recvfrom(ends[1], letter->bytes, 100, 0,
                   (struct sockaddr *)&letter->name, &letter->name_size) == 10);
    CHECK(letter->name_size == from_size &&
          memcmp(&letter->name, from, from_size) == 0);
    CHECK(sendto(ends[0], letter->bytes, 10, 0,
                 (struct sockaddr *)&letter->name, 10000) == -1 &&
          errno == EINVAL);
}

static void set_header(struct letter *letter)
{
    letter->part = (struct iovec){letter->bytes, sizeof letter->bytes};
    letter->header = (struct msghdr){
        .msg_name = &letter->name,
        .msg_namelen = letter->name_size,
        .msg_iov = &letter->part,
        .msg_iovlen = 1,
        .msg_control = letter->control,
        .msg_controllen = sizeof letter->control,
    };
}

// A descriptor travels with the message.
static void run_control(struct letter *letter, const struct sockaddr_un *from,
                        socklen_t from_size)
{
    struct cmsghdr *control;
    int passed = temporary_file();

    set_header(letter);
    control = CMSG_FIRSTHDR(&letter->header);
    *control = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)),
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SCM_RIGHTS,
    };
    memcpy(CMSG_DATA(control), &passed, sizeof passed);
    send_away(letter);
    CHECK(sendmsg(ends[0], &letter->header, 0) == 100);
    memset(letter, 0, sizeof *letter);
    letter->name_size = sizeof letter->name;
    set_header(letter);
    letter->part.iov_len = 60;
    send_away(letter);
    CHECK(recvmsg(ends[1], &letter->header, 0) == 60);
    CHECK(letter->header.msg_flags & MSG_TRUNC);
    CHECK(letter->header.msg_namelen == from_size &&
          memcmp(&letter->name, from, from_size) == 0);
    control = CMSG_FIRSTHDR(&letter->header);
    CHECK(control != NULL && control->cmsg_type == SCM_RIGHTS);
    memcpy(&passed, CMSG_DATA(control), sizeof passed);
    CHECK(write(passed, "it works", 8) == 8);
    letter->header.msg_iovlen = 100000;
    CHECK(sendmsg(ends[0], &letter->header, 0) == -1 && errno == EMSGSIZE);
}

void run_datagrams(void)
{
    struct letter *letter = tm_alloc(sizeof *letter, NULL);
    struct sockaddr_un from;
    struct sockaddr_un to;
    socklen_t from_size;

    ends[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    ends[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    from_size = bind_to(ends[0], &from);
    letter->name_size = bind_to(ends[1], &to);
    letter->name = to;
    run_names(letter, &from, from_size);
    letter->name = to;
    letter->name_size = from_size;
    run_control(letter, &from, from_size);
}
