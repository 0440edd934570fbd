// SPDX-License-Identifier: BSD-3-Clause
// What only a thread's own node has (thread-local variables, answers of the C library), written,
// read and printed by threads that are on several; mappings that are unmapped in parts.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define PAGE 4096

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static __thread char buffer[600];
static __thread char other[20];

static void use_descriptor(int me)
{
    const size_t room =
        sizeof buffer - (size_t)me; // the compiler does not know it
    struct iovec parts[2] = {{buffer, 6}, {other, 4}};
    char name[] = "private-XXXXXX";
    int fd = mkstemp(name);

    snprintf(buffer, sizeof buffer, "number %d, in a file", me);
    if (write(fd, buffer, strlen(buffer)) != 19 || pwrite(fd, "N", 1, 0) != 1 ||
        lseek(fd, 0, SEEK_SET) != 0) {
        perror(name);
    }
    memset(buffer, 0, sizeof buffer);
    printf("%zd", readv(fd, parts, 2));
    printf(" %s|%s", buffer, other);
    printf(" %zd", read(fd, buffer, room));
    printf(" %s", buffer);
    printf(" %zd %s\n", pread(fd, buffer, room - 590, 7), buffer);
    printf("%zd\n", (fflush(stdout), writev(1, parts, 2)));
    printf("%d %d\n", fcntl(fd, F_SETFD, FD_CLOEXEC), fcntl(fd, F_GETFD));
    close(fd);
    fd = openat(AT_FDCWD, name, O_RDONLY);
    printf("%d %zd\n", fd > 2, read(fd, buffer, room));
    close(fd);
    unlink(name);
}

static void use_stream(int me)
{
    char name[] = "private-XXXXXX";
    int fd = mkstemp(name);
    FILE *file = fdopen(fd, "w+");

    memset(buffer, 'a' + me, sizeof buffer - 1);
    fprintf(file, "%s, and %s\n", buffer, buffer);
    fputs(strerror(5), file);
    fwrite(buffer, 2, 10, file);
    rewind(file);
    memset(buffer, 0, sizeof buffer);
    printf("%s", fgets(buffer, (int)sizeof buffer - me, file));
    printf("%zu", fread(buffer, 1, 20 + (size_t)me, file));
    printf("%.20s\n", buffer);
    fclose(file);
    unlink(name);
}

static void print_answers(void)
{
    struct in_addr address = {htonl(0x7f000001)};
    time_t time = 86400;

    printf("%s", asctime(gmtime(&time)));
    puts(inet_ntoa(address));
    fputs(strerror(2), stdout);
    printf(" %*d%n\n", 700, 7, &(int){0});
}

static void *work(void *arg)
{
    int me = *(int *)arg;

    pthread_mutex_lock(&mutex);
    while (turn != me) {
        pthread_cond_wait(&changed, &mutex);
    }
    use_descriptor(me);
    use_stream(me);
    print_answers();
    fflush(stdout);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
}

// As those do who want their memory aligned.
static void use_mappings(void)
{
    char *all = map(8 * PAGE);

    memset(all, 1, 8 * PAGE);
    munmap(all, 2 * PAGE);
    munmap(all + 6 * PAGE, 2 * PAGE);
    printf("%d %d", all[2 * PAGE], all[6 * PAGE - 1]);
    madvise(all + 3 * PAGE, PAGE, MADV_DONTNEED);
    printf(" %d %d %d\n", all[3 * PAGE - 1], all[3 * PAGE], all[4 * PAGE]);
    munmap(all + 2 * PAGE, 4 * PAGE);
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    use_mappings();
    fflush(stdout);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
