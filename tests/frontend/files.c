// SPDX-License-Identifier: BSD-3-Clause
// Every thread prints, in turn, writes to one file, reads another by mmap() and stat(); main()
// reads standard input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS 5

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static FILE *file;
static char name[] = "files-XXXXXX";
static char *mapped;
static size_t mapped_size;

static void *work(void *arg)
{
    int me = *(int *)arg;
    struct stat status;
    char text[64];
    int fd;

    pthread_mutex_lock(&mutex);
    while (turn != me) {
        pthread_cond_wait(&changed, &mutex);
    }
    printf("thread %d, %zu bytes: %.5s\n", me, mapped_size, mapped + me);
    snprintf(text, sizeof text, "line of %d\n", me);
    fputs(text, file);
    fprintf(file, "%s %d %.3f\n", "more of", me, me / 3.0);
    fflush(file);
    fd = open(name, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0 || read(fd, text, 6) != 6) {
        perror("file");
    }
    close(fd);
    printf("%ld bytes, begins %.6s\n", (long)status.st_size, text);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void map_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);

    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        exit(1);
    }
    mapped_size = (size_t)status.st_size;
    mapped = mmap(NULL, mapped_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    close(fd);
}

// Names, folders and what is known of files, on whatever node.
static void *name_files(void *arg)
{
    const struct timespec times[2] = {{1000, 0}, {2000, 0}};
    char folder[] = "/tmp/unchanged.XXXXXX";
    char from[64];
    char to[64];
    struct stat status;
    int error = mkdtemp(folder) == NULL;
    int fd;

    (void)arg;
    snprintf(from, sizeof from, "%s/from", folder);
    snprintf(to, sizeof to, "%s/to", folder);
    fd = open(from, O_RDWR | O_CREAT, 0600);
    error |= fchmod(fd, 0640) | futimens(fd, times) | close(fd);
    error |= linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    error |= stat(to, &status);
    printf("%d: mode %o, %d names, of %ld\n", error, status.st_mode & 0777,
           (int)status.st_nlink, (long)status.st_mtime);
    error = fchmodat(AT_FDCWD, to, 0600, 0) | utimensat(AT_FDCWD, to, NULL, 0);
    error |= unlink(from) | renameat2(AT_FDCWD, to, AT_FDCWD, from, 0);
    error |= mkfifoat(AT_FDCWD, to, 0600) | stat(from, &status);
    printf("%d: mode %o, %d name, new %d\n", error, status.st_mode & 0777,
           (int)status.st_nlink, status.st_mtime > 2000);
    printf("%d\n", unlink(from) | unlink(to) | rmdir(folder));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    char line[100];
    int a;
    int b;

    map_file(argv[argc - 1]);
    if (scanf("%d %d\n", &a, &b) != 2 ||
        fgets(line, sizeof line, stdin) == NULL) {
        return 1;
    }
    printf("%d %d %s", a, b, line);
    close(mkstemp(name));
    file = fopen(name, "w");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    fclose(file);
    file = fopen(name, "r");
    while (fgets(line, sizeof line, file) != NULL) {
        fputs(line, stdout);
    }
    fclose(file);
    pthread_create(&threads[0], NULL, name_files, NULL);
    pthread_join(threads[0], NULL);
    unlink(name);
    munmap(mapped, mapped_size);
    return 0;
}
