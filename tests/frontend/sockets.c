// SPDX-License-Identifier: BSD-3-Clause
// Pipes, sockets, poll(), select() and epoll between threads, wherever they are: a server with a
// thread for each client, an echo through pipes, and one thread that waits for many others.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLIENTS 3
#define LARGE 200000 // more than a pipe takes at once

static int listener, port;
static int there[2], back[2];
static int ways[CLIENTS][2];

static void fail(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

static void *serve(void *arg)
{
    const int fd = (int)(long)arg;
    char text[64];
    ssize_t n;

    while ((n = recv(fd, text, sizeof text, 0)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            text[i] ^= ' ';
        }
        if (send(fd, text, (size_t)n, 0) != n) {
            fail("send");
        }
    }
    close(fd);
    return NULL;
}

static void *call(void *arg)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char text[64];
    char *answer = malloc(64);
    int on = 1;
    ssize_t n;

    name.sin_port = htons((unsigned short)port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&name, sizeof name) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0) {
        fail("connect");
    }
    snprintf(text, sizeof text, "client%c", 'a' + (int)(long)arg);
    if (send(fd, text, strlen(text), 0) < 0) {
        fail("send");
    }
    n = recv(fd, answer, 64, 0);
    answer[n < 0 ? 0 : n] = '\0';
    close(fd);
    return answer;
}

static void open_listener(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t size = sizeof name;
    int on = 0;
    socklen_t on_size = sizeof on;

    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) != 0 ||
        listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&name, &size) != 0 ||
        getsockopt(listener, SOL_SOCKET, SO_TYPE, &on, &on_size) != 0) {
        fail("listen");
    }
    port = ntohs(name.sin_port);
    printf("listens: %d %d %d\n", size == sizeof name, on == SOCK_STREAM,
           port > 0);
}

static void use_sockets(void)
{
    pthread_t clients[CLIENTS];
    pthread_t servers[CLIENTS];

    open_listener();
    for (long i = 0; i < CLIENTS; i++) {
        pthread_create(&clients[i], NULL, call, (void *)i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        const long fd = accept(listener, NULL, NULL);

        if (fd < 0) {
            fail("accept");
        }
        pthread_create(&servers[i], NULL, serve, (void *)fd);
    }
    for (int i = 0; i < CLIENTS; i++) {
        void *answer;

        pthread_join(clients[i], &answer);
        printf("answer %s\n", (char *)answer);
        free(answer);
        pthread_join(servers[i], NULL);
    }
    close(listener);
}

// What comes from `there` goes `back`, in pieces.
static void *echo(void *unused)
{
    static char piece[7000];
    ssize_t n;

    while ((n = read(there[0], piece, sizeof piece)) > 0) {
        if (write(back[1], piece, (size_t)n) != n) {
            fail("write");
        }
    }
    close(back[1]);
    return unused;
}

static void *fill(void *unused)
{
    char *bytes = malloc(LARGE);

    for (int i = 0; i < LARGE; i++) {
        bytes[i] = (char)(i * 31 >> 3);
    }
    if (write(there[1], bytes, LARGE) != LARGE) {
        fail("write");
    }
    close(there[1]);
    free(bytes);
    return unused;
}

static void use_pipes(void)
{
    pthread_t threads[2];
    FILE *file;
    long n = 0;
    unsigned sum = 0;
    int byte;

    if (pipe(there) != 0 || pipe(back) != 0) {
        fail("pipe");
    }
    pthread_create(&threads[0], NULL, echo, NULL);
    pthread_create(&threads[1], NULL, fill, NULL);
    file = fdopen(back[0], "r");
    while ((byte = getc(file)) != EOF && n < 5000) {
        sum = sum * 31 + (unsigned)byte;
        n++;
    }
    ungetc(byte, file);
    for (char block[4096];
         (byte = (int)fread(block, 1, sizeof block, file)) > 0; n += byte) {
        for (int i = 0; i < byte; i++) {
            sum = sum * 31 + (unsigned char)block[i];
        }
    }
    fclose(file);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%ld bytes, %x\n", n, sum);
}

static void *tell(void *arg)
{
    const long me = (long)arg;
    struct iovec parts[2] = {{.iov_base = "a part, ", .iov_len = 8},
                             {.iov_base = "and more", .iov_len = 8}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    poll(NULL, 0, 3);
    usleep((unsigned)(2000 * (me + 1)));
    if (sendmsg(ways[me][1], &message, 0) != 16) {
        fail("sendmsg");
    }
    return NULL;
}

// Nobody tells anything before threads are created.
static void see_nothing(void)
{
    struct pollfd fd = {.fd = ways[0][0], .events = POLLIN};

    printf("nothing yet: %d\n", poll(&fd, 1, 0));
}

static void wait_by_poll(void)
{
    struct pollfd fds[CLIENTS];
    int n_left = CLIENTS;

    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = (struct pollfd){.fd = ways[i][0], .events = POLLIN};
    }
    while (n_left > 0) {
        if (poll(fds, CLIENTS, -1) < 0) {
            fail("poll");
        }
        for (int i = 0; i < CLIENTS; i++) {
            char text[32] = "";

            if ((fds[i].revents & POLLIN) != 0) {
                printf("%d", (int)recv(fds[i].fd, text, sizeof text, 0));
                printf(" %s\n", text);
                n_left--;
            }
        }
    }
}

// Nobody has sent a signal: no call is interrupted.
static void wait_in_vain(void)
{
    struct pollfd entry = {.fd = ways[1][0], .events = POLLIN};
    int sum = 0;

    for (int i = 0; i < 40; i++) {
        struct timeval time = {.tv_usec = 500};
        fd_set set;

        FD_ZERO(&set);
        FD_SET(ways[1][0], &set);
        sum += select(ways[1][0] + 1, &set, NULL, NULL, &time);
        sum += poll(&entry, 1, 0);
    }
    printf("in vain %d\n", sum);
}

static void wait_by_select(void)
{
    struct timeval time = {.tv_sec = 5};
    fd_set set;

    FD_ZERO(&set);
    FD_SET(ways[0][0], &set);
    printf("select %d", select(ways[0][0] + 1, &set, NULL, NULL, &time));
    printf(" %d %d\n", FD_ISSET(ways[0][0], &set) != 0, (int)time.tv_sec <= 5);
    wait_in_vain();
}

static void wait_by_epoll(void)
{
    const int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, ways[0][0], &event) != 0) {
        fail("epoll_ctl");
    }
    memset(&event, 0, sizeof event);
    printf("epoll %d", epoll_wait(epoll, &event, 1, -1));
    printf(" %d\n", (int)event.data.u64);
    close(epoll);
}

int main(void)
{
    pthread_t threads[CLIENTS];

    use_sockets();
    use_pipes();
    for (long i = 0; i < CLIENTS; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ways[i]) != 0) {
            fail("socketpair");
        }
    }
    see_nothing();
    for (long i = 0; i < CLIENTS; i++) {
        pthread_create(&threads[i], NULL, tell, (void *)i);
    }
    wait_by_poll();
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_create(&threads[0], NULL, tell, (void *)0L);
    wait_by_select();
    wait_by_epoll();
    pthread_join(threads[0], NULL);
    return 0;
}
