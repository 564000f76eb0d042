// What can go wrong below a program that writes a file, for tests: preloaded into it, so that the program itself knows nothing of it.
//
// FAULT_FILE   how the name of the file ends
// FAULT_COUNT  a file that gets one byte for each write and flush of it
// FAULT_AT     the write or flush at which it happens, counted from 1
// FAULT_KIND   before  the process is killed instead
//              torn    half of it is written, then the process is killed
//              full    from there on there is no room on the disk
//              jump    from there on the clock of the machine is wrong by FAULT_CLOCK seconds
// FAULT_CLOCK  without FAULT_KIND: the clock is wrong from the beginning

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_long seen;

static int is_kind(const char *kind) {
    const char *said = getenv("FAULT_KIND");
    return said != NULL && strcmp(said, kind) == 0;
}

static int matters(int fd) {
    const char *wanted = getenv("FAULT_FILE");
    if (wanted == NULL) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    size_t end = strlen(wanted);
    return (size_t)length >= end && memcmp(path + length - end, wanted, end) == 0;
}

static void count(void) {
    const char *path = getenv("FAULT_COUNT");
    if (path == NULL) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (fd >= 0) {
        next(fd, ".", 1);
        close(fd);
    }
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Whether it is to happen now, or has begun to. */
enum when { NOT_YET, NOW, SINCE };

static enum when step(int fd) {
    if (!matters(fd)) return NOT_YET;
    count();
    long number = atomic_fetch_add(&seen, 1) + 1;
    const char *at = getenv("FAULT_AT");
    if (at == NULL) return NOT_YET;
    long wanted = atol(at);
    return number < wanted ? NOT_YET : number == wanted ? NOW : SINCE;
}

/* How much is to be written: all of it, half of it, or -1 if nothing can be. */
static ssize_t written(int fd, size_t size) {
    enum when when = step(fd);
    if (when == NOT_YET) return (ssize_t)size;
    if (is_kind("full")) {
        errno = ENOSPC;
        return -1;
    }
    if (when == NOW && is_kind("before")) die();
    if (when == NOW && is_kind("torn")) return (ssize_t)(size / 2);
    return (ssize_t)size;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    ssize_t length = written(fd, size);
    if (length < 0) return -1;
    ssize_t done = next(fd, bytes, (size_t)length);
    if ((size_t)length < size) die();
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t length = written(fd, size);
    if (length < 0) return -1;
    ssize_t done = next(fd, bytes, (size_t)length, at);
    if ((size_t)length < size) die();
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    return pwrite64(fd, bytes, size, at);
}

static int flushed(int fd, const char *name) {
    int (*next)(int) = dlsym(RTLD_NEXT, name);
    enum when when = step(fd);
    if (when == NOW && (is_kind("before") || is_kind("torn"))) die();
    return next(fd);
}

int fsync(int fd) { return flushed(fd, "fsync"); }

int fdatasync(int fd) { return flushed(fd, "fdatasync"); }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = next(clock, now);
    const char *wrong = getenv("FAULT_CLOCK");
    if (failed == 0 && clock == CLOCK_REALTIME && wrong != NULL) {
        const char *at = getenv("FAULT_AT");
        int jumped = !is_kind("jump") || (at != NULL && atomic_load(&seen) >= atol(at));
        if (jumped) now->tv_sec += atol(wrong);
    }
    return failed;
}
