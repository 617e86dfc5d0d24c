/* A library that is loaded before the C library (LD_PRELOAD) and lets calls of the system fail. KARMA_FAULT says how:
 *
 *   none            nothing fails
 *   short           reads and writes handle a few bytes at a time
 *   interrupt       every second read and poll ends with EINTR
 *   write:N:CODE    write number N (from 1) and all after it fail with errno CODE, without writing
 *   read:N:CODE     read number N and all after it fail
 *   sync:N:CODE     fsync number N fails; rename:N:CODE and link:N:CODE likewise
 *   room:N:CODE     files have room for N bytes in all: then a write is short, and the next one fails
 *   json:N:K        request number N of Jansson for memory, and the K after it, are for more than there is
 *   unnamed:0:CODE  the file system has no files without a name (O_TMPFILE)
 *   temporary:0:CODE  no temporary file can be made (tmpfile)
 *   clock:N:0       from call N on the clock jumps by an hour, forwards and backwards in turn
 *   tick:N:0        the clock counts its own calls: each is N milliseconds after the one before
 *
 * KARMA_FAULT_COUNTS names a file to which the numbers of calls are written at the end. Streams of stdio write by calls
 * inside of the C library that nothing can replace, so every stream is made one with functions of its own
 * (fopencookie). Files of /proc, /sys and /dev/random are left alone, and the
 * counts of a coverage build, which would be lost. */
#undef _FILE_OFFSET_BITS /* both names of each function are defined here */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STREAMS = 64, FEW = 7 };

static struct {
    char kind[16];
    long at, code;
} fault;
static long n_reads, n_writes, n_syncs, n_renames, n_links, n_clocks, n_polls, n_bytes, n_json;
static struct {
    FILE *stream;
    int file;
} streams[MOST_STREAMS];

static int is_kind(const char *kind) {
    return strcmp(fault.kind, kind) == 0;
}

/* Whether call number `n` of this kind fails; if so, sets errno. */
static int fails(const char *kind, long n) {
    if (!is_kind(kind) || n < fault.at) return 0;
    errno = (int)fault.code;
    return 1;
}

static int is_ours(int file) {
    char link[64], path[256];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = '\0';
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && !strstr(path, "random") &&
           !strstr(path, ".gcda");
}

/* --- the system's calls --------------------------------------------------------------------------------- */

static ssize_t faulty_read(int file, void *to, size_t size, off_t at, int has_offset) {
    if (is_ours(file)) {
        long n = ++n_reads;
        if (fails("read", n)) return -1;
        if (is_kind("interrupt") && n % 2) {
            errno = EINTR;
            return -1;
        }
        if (is_kind("short") && size > FEW) size = 1 + (size_t)n % FEW;
    }
    return has_offset ? syscall(SYS_pread64, file, to, size, at) : syscall(SYS_read, file, to, size);
}

static ssize_t faulty_write(int file, const void *from, size_t size) {
    if (is_ours(file) && file != 2) {
        long n = ++n_writes;
        if (fails("write", n)) return -1;
        if (is_kind("short") && size > FEW) size = 1 + (size_t)n % FEW;
        if (is_kind("room")) {
            if (n_bytes >= fault.at) {
                errno = (int)fault.code;
                return -1;
            }
            if ((long)size > fault.at - n_bytes) size = (size_t)(fault.at - n_bytes);
        }
        n_bytes += (long)size;
    }
    return syscall(SYS_write, file, from, size);
}

ssize_t read(int file, void *to, size_t size) {
    return faulty_read(file, to, size, 0, 0);
}
ssize_t pread(int file, void *to, size_t size, off_t at) {
    return faulty_read(file, to, size, at, 1);
}
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
    return faulty_read(file, to, size, at, 1);
}
ssize_t write(int file, const void *from, size_t size) {
    return faulty_write(file, from, size);
}

int fsync(int file) {
    return fails("sync", ++n_syncs) ? -1 : (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to) {
    return fails("rename", ++n_renames) ? -1 : (int)syscall(SYS_rename, from, to);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    if (fails("link", ++n_links)) return -1;
    return (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
}

static int open_file(const char *path, int flags, mode_t mode) {
    if ((flags & O_TMPFILE) == O_TMPFILE && is_kind("unnamed")) {
        errno = (int)fault.code;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    return open_file(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    return open_file(path, flags | O_LARGEFILE, mode);
}

int poll(struct pollfd *files, nfds_t n, int milliseconds) {
    if (is_kind("interrupt") && ++n_polls % 2) {
        errno = EINTR;
        return -1;
    }
    return (int)syscall(SYS_poll, files, n, milliseconds);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int code = (int)syscall(SYS_clock_gettime, clock, out);
    long n = __atomic_add_fetch(&n_clocks, 1, __ATOMIC_RELAXED);
    if (is_kind("clock") && n >= fault.at) out->tv_sec += (n - fault.at) % 2 ? -3600 : 3600;
    if (is_kind("tick")) {
        long milliseconds = n * fault.at;
        out->tv_sec = 1000 + milliseconds / 1000;
        out->tv_nsec = milliseconds % 1000 * 1000000;
    }
    if (out->tv_sec < 0) out->tv_sec = 0;
    return code;
}

/* --- memory of Jansson ------------------------------------------------------------------------------------ */

static void *(*json_memory)(size_t size);

static void *scarce_memory(size_t size) {
    long n = ++n_json - fault.at;
    return json_memory(is_kind("json") && n >= 0 && n <= fault.code ? PTRDIFF_MAX : size);
}

/* What the tool gives as malloc. */
void json_set_alloc_funcs(void *(*memory)(size_t size), void (*release)(void *memory)) {
    void (*set)(void *(*)(size_t), void (*)(void *));
    *(void **)(void *)&set = dlsym(RTLD_NEXT, "json_set_alloc_funcs");
    json_memory = memory;
    set(scarce_memory, release);
}

/* --- streams -------------------------------------------------------------------------------------------- */

/* As stdio does: short writes continue, other failures become those of the stream. */
static ssize_t stream_write(void *cookie, const char *from, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = faulty_write((int)(intptr_t)cookie, from + done, size - done);
        if (n < 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static ssize_t stream_read(void *cookie, char *to, size_t size) {
    ssize_t n;
    do n = faulty_read((int)(intptr_t)cookie, to, size, 0, 0);
    while (n < 0 && errno == EINTR && is_kind("interrupt"));
    return n;
}

static int stream_seek(void *cookie, off64_t *at, int whence) {
    off64_t n = lseek64((int)(intptr_t)cookie, *at, whence);
    if (n < 0) return -1;
    *at = n;
    return 0;
}

static int stream_close(void *cookie) {
    int file = (int)(intptr_t)cookie;
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams[i].stream && streams[i].file == file) streams[i].stream = NULL;
    return close(file);
}

static FILE *make_stream(int file, const char *mode) {
    static const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
    FILE *stream = fopencookie((void *)(intptr_t)file, mode, functions);
    for (size_t i = 0; stream && i < MOST_STREAMS; i++)
        if (!streams[i].stream) {
            streams[i].stream = stream;
            streams[i].file = file;
            break;
        }
    return stream;
}

FILE *fdopen(int file, const char *mode) {
    return make_stream(file, mode);
}

static FILE *open_stream(const char *path, const char *mode) {
    int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
    if (strchr(mode, '+')) flags = (flags & ~(O_WRONLY | O_RDONLY)) | O_RDWR;
    int file = open_file(path, flags | O_CLOEXEC, 0666);
    return file < 0 ? NULL : make_stream(file, mode);
}

FILE *fopen(const char *path, const char *mode) {
    return open_stream(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return open_stream(path, mode);
}

static FILE *open_temporary(void) {
    if (fails("temporary", 0)) return NULL;
    const char *directory = getenv("TMPDIR");
    int file = (int)syscall(SYS_openat, AT_FDCWD, directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return file < 0 ? NULL : make_stream(file, "w+b");
}

FILE *tmpfile(void) {
    return open_temporary();
}
FILE *tmpfile64(void) {
    return open_temporary();
}

int fileno(FILE *stream) {
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (streams[i].stream == stream) return streams[i].file;
    return stream->_fileno;
}

/* --- start and end -------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("KARMA_FAULT");
    if (!text || sscanf(text, "%15[a-z]:%ld:%ld", fault.kind, &fault.at, &fault.code) < 1) return;
    stdout = make_stream(1, "w");
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("KARMA_FAULT_COUNTS");
    char line[256];
    if (!path) return;
    (void)fflush(stdout);
    int length = snprintf(line, sizeof line,
                          "{\"read\": %ld, \"write\": %ld, \"sync\": %ld, \"rename\": %ld, \"link\": %ld, "
                          "\"clock\": %ld, \"room\": %ld, \"json\": %ld}\n",
                          n_reads, n_writes, n_syncs, n_renames, n_links, n_clocks, n_bytes, n_json);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    (void)syscall(SYS_write, file, line, (size_t)length);
    (void)syscall(SYS_close, file);
}
