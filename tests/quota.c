/* A disk over quota: below a folder, writes or new files fail with EDQUOT, in this process and in those it starts.

   Preloaded (LD_PRELOAD). The file that QUOTA_SWITCH names holds what fails, `b` (blocks) or `f` (files), and the folder;
   while it is not there, nothing fails. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path, char kind) {
    char wanted[PATH_MAX + 2];
    const char *name = getenv("QUOTA_SWITCH");
    if (!name)
        return 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return 0;
    ssize_t length = read(file, wanted, sizeof wanted - 1);
    close(file);
    if (length < 2 || wanted[0] != kind)
        return 0;
    return strncmp(path, wanted + 1, (size_t)length - 1) == 0;
}

static int refused(int file) {
    char link[64], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    int found = 0;
    if (length > 0) {
        path[length] = 0;
        found = below(path, 'b');
    }
    errno = found ? EDQUOT : before;
    return found;
}

static int no_new(int folder, const char *path) {
    struct stat found;
    char place[PATH_MAX], *whole;
    int before = errno, refuse;
    if (fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = before;
        return 0;
    }
    if (path[0] != '/' && folder != AT_FDCWD) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, place, sizeof place - 1);
        if (length < 0)
            return 0;
        place[length] = 0;
        whole = place;
    } else if (path[0] != '/') {
        whole = getcwd(place, sizeof place);
    } else {
        whole = (char *)path;
    }
    refuse = whole && below(whole, 'f');
    errno = refuse ? EDQUOT : before;
    return refuse;
}

ssize_t write(int file, const void *data, size_t size) {
    return refused(file) ? -1 : REAL(write)(file, data, size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    return refused(file) ? -1 : REAL(pwrite)(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    return refused(file) ? -1 : REAL(pwrite64)(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    return refused(file) ? -1 : REAL(writev)(file, parts, count);
}
int posix_fallocate(int file, off_t at, off_t size) {
    return refused(file) ? EDQUOT : REAL(posix_fallocate)(file, at, size);
}
int posix_fallocate64(int file, off64_t at, off64_t size) {
    return refused(file) ? EDQUOT : REAL(posix_fallocate64)(file, at, size);
}
int fallocate(int file, int mode, off_t at, off_t size) {
    return refused(file) ? -1 : REAL(fallocate)(file, mode, at, size);
}
int fallocate64(int file, int mode, off64_t at, off64_t size) {
    return refused(file) ? -1 : REAL(fallocate64)(file, mode, at, size);
}

#define OPENED(name, folder, path, flags, ...)                                                                         \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode_t mode = (flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;                  \
    va_end(rest);                                                                                                      \
    if ((flags) & O_CREAT && no_new(folder, path))                                                                     \
        return -1;                                                                                                     \
    return REAL(name)(__VA_ARGS__, flags, mode)

int open(const char *path, int flags, ...) { OPENED(open, AT_FDCWD, path, flags, path); }
int open64(const char *path, int flags, ...) { OPENED(open64, AT_FDCWD, path, flags, path); }
int openat(int folder, const char *path, int flags, ...) { OPENED(openat, folder, path, flags, folder, path); }
int openat64(int folder, const char *path, int flags, ...) { OPENED(openat64, folder, path, flags, folder, path); }

int mkdir(const char *path, mode_t mode) { return no_new(AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    return no_new(folder, path) ? -1 : REAL(mkdirat)(folder, path, mode);
}
FILE *fopen(const char *path, const char *mode) {
    return strpbrk(mode, "wa") && no_new(AT_FDCWD, path) ? NULL : REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return strpbrk(mode, "wa") && no_new(AT_FDCWD, path) ? NULL : REAL(fopen64)(path, mode);
}
