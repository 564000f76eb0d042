// What can go wrong below a program that writes files, for tests: preloaded into it, so that the program itself knows nothing of it.
//
// A step is a write or a flush of a file that matters; with FAULT_BELOW also making, renaming or removing something there.
//
// FAULT_FILE   how the name of the file ends that matters
// FAULT_BELOW  or: the directory below which everything matters
// FAULT_PROG   only in the program whose path ends like this; what it starts is left alone
// FAULT_COUNT  a file that gets one byte for each step
// FAULT_AT     the step at which it happens, counted from 1
// FAULT_KIND   before  the process is killed instead
//              torn    half of what is to be written is, then the process is killed; as before for all other steps
//              full    from there on there is no room on the disk
//              jump    from there on the clock of the machine is wrong by FAULT_CLOCK seconds
// FAULT_CLOCK  without FAULT_KIND: the clock is wrong from the beginning
// FAULT_SEEN   a file that gets a letter, once in each process, for what was seen to go wrong there or in what it started, whoever made it go
//              wrong: S no room on the disk, R no right to write, C a wrong clock that was asked
// FAULT_AROUND the directory below which no room and no right are noted

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_long seen;

static int is_kind(const char *kind) {
    const char *said = getenv("FAULT_KIND");
    return said != NULL && strcmp(said, kind) == 0;
}

static int ends_with(const char *path, size_t length, const char *end) {
    size_t more = strlen(end);
    return length >= more && memcmp(path + length - more, end, more) == 0;
}

static int is_below(const char *path, size_t length, const char *dir) {
    size_t start = strlen(dir);
    return length > start && memcmp(path, dir, start) == 0 && path[start] == '/';
}

static int is_program(void) {
    static atomic_int known; /* 0: not yet, 1: it is, 2: it is not */
    if (atomic_load(&known) == 0) {
        const char *wanted = getenv("FAULT_PROG");
        char path[PATH_MAX];
        ssize_t length = wanted == NULL ? 0 : readlink("/proc/self/exe", path, sizeof path);
        int is = wanted == NULL || (length > 0 && ends_with(path, (size_t)length, wanted));
        atomic_store(&known, is ? 1 : 2);
    }
    return atomic_load(&known) == 1;
}

static int path_matters(const char *path, size_t length) {
    const char *wanted = getenv("FAULT_FILE"), *below = getenv("FAULT_BELOW");
    if (wanted != NULL) return ends_with(path, length, wanted);
    return below != NULL && is_below(path, length, below);
}

static int matters(int fd) {
    if (!is_program()) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 0 && path_matters(path, (size_t)length);
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

/* Once for each letter. What went wrong is still what went wrong afterwards. */
static void saw(char letter) {
    static atomic_int told[3];
    const char *path = getenv("FAULT_SEEN");
    int which = letter == 'S' ? 0 : letter == 'R' ? 1 : 2;
    if (path == NULL || atomic_exchange(&told[which], 1)) return;
    int before = errno;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (fd >= 0) {
        next(fd, &letter, 1);
        close(fd);
    }
    errno = before;
}

/* Why something could not be written at a path; relative ones are where the program is, which is below whatever is looked at. */
static void failed_at(const char *path) {
    const char *around = getenv("FAULT_AROUND");
    if (around == NULL || (path[0] == '/' && !is_below(path, strlen(path), around))) return;
    if (errno == ENOSPC || errno == EDQUOT) saw('S');
    if (errno == EROFS || errno == EACCES || errno == EPERM) saw('R');
}

static void failed_with(int fd) {
    char link[64], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length <= 0) return;
    path[length] = '\0';
    failed_at(path);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Whether it is to happen now, or has begun to. */
enum when { NOT_YET, NOW, SINCE };

static enum when counted(void) {
    count();
    long number = atomic_fetch_add(&seen, 1) + 1;
    const char *at = getenv("FAULT_AT");
    if (at == NULL) return NOT_YET;
    long wanted = atol(at);
    return number < wanted ? NOT_YET : number == wanted ? NOW : SINCE;
}

static enum when step(int fd) { return matters(fd) ? counted() : NOT_YET; }

/* How much is to be written: all of it, half of it, or -1 if nothing can be. */
static ssize_t written(int fd, size_t size) {
    enum when when = step(fd);
    if (when == NOT_YET) return (ssize_t)size;
    if (is_kind("full")) {
        saw('S');
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
    if (done < 0) failed_with(fd);
    if ((size_t)length < size) die();
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t length = written(fd, size);
    if (length < 0) return -1;
    ssize_t done = next(fd, bytes, (size_t)length, at);
    if (done < 0) failed_with(fd);
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

/* Before something is made, renamed or removed; relative paths are below `dir`, or wherever the program is. */
static void named(int dir, const char *path) {
    if (getenv("FAULT_BELOW") == NULL || !is_program()) return;
    int of_dir = path[0] != '/' && dir != AT_FDCWD;
    if (of_dir ? !matters(dir) : !path_matters(path, strlen(path))) return;
    if (counted() == NOW && (is_kind("before") || is_kind("torn"))) die();
}

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* What came of it, noted if it failed. */
static int done(int result, const char *path) {
    if (result < 0) failed_at(path);
    return result;
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    named(AT_FDCWD, to);
    return done(next(from, to), to);
}

int unlink(const char *path) {
    NEXT(unlink);
    named(AT_FDCWD, path);
    return done(next(path), path);
}

int unlinkat(int dir, const char *path, int flags) {
    NEXT(unlinkat);
    named(dir, path);
    return done(next(dir, path, flags), path);
}

int rmdir(const char *path) {
    NEXT(rmdir);
    named(AT_FDCWD, path);
    return done(next(path), path);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    named(AT_FDCWD, path);
    return done(next(path, mode), path);
}

int ftruncate64(int fd, off64_t length) {
    NEXT(ftruncate64);
    int result = next(fd, length);
    if (result < 0) failed_with(fd);
    return result;
}

int open64(const char *path, int flags, ...) {
    NEXT(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (flags & O_CREAT) named(AT_FDCWD, path);
    int fd = next(path, flags, mode);
    if (fd < 0 && (flags & (O_CREAT | O_WRONLY | O_RDWR))) failed_at(path);
    return fd;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = next(clock, now);
    const char *wrong = getenv("FAULT_CLOCK");
    if (failed == 0 && clock == CLOCK_REALTIME && wrong != NULL) {
        const char *at = getenv("FAULT_AT");
        int jumped = !is_kind("jump") || (at != NULL && atomic_load(&seen) >= atol(at));
        if (jumped) {
            now->tv_sec += atol(wrong);
            saw('C');
        }
    }
    return failed;
}
