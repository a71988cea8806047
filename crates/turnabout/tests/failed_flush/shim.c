/* Makes flushes fail: loaded before the C library, for a process whose disk is to be broken for a while.
 *
 * While the file FLUSH_FAILS_WHILE exists, fsync and fdatasync of files whose path begins with FLUSH_FAILS_OF fail with
 * EIO, and keep nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd) {
    const char *trigger = getenv("FLUSH_FAILS_WHILE"), *prefix = getenv("FLUSH_FAILS_OF");
    char link[64], path[4096];
    if (!trigger || !prefix || access(trigger, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

static int flush(const char *name, int fd) {
    if (fails(fd)) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(fd);
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }
