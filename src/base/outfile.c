#define _GNU_SOURCE /* O_TMPFILE */
/* Output files that are complete or absent. If the system supports it, the file has no name while it is written, so it
 * vanishes if the process dies. To commit, the file is flushed and synced, gets a temporary name in the
 * directory and is renamed, and the directory is synced, so that a crash leaves either the old file or the
 * new one. On other systems it has the temporary name from the start. A file that a killed process left under
 * such a name is removed when the output is written again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/output_sink.h"
#include "base/folder.h"

struct karma_output {
    FILE *stream;
    char *final_path;         /* NULL: written in place (standard output, a device, a pipe) */
    char *temporary_path;     /* NULL: no name yet, or written in place */
    char *name;               /* what messages call it */
    karma_i_output_sink sink; /* takes the text of a temporary file, if it can */
};

static void free_output(karma_output *output) {
    if (output->sink.free) output->sink.free(output->sink.self);
    karma_i_free(output->final_path);
    karma_i_free(output->temporary_path);
    karma_i_free(output->name);
    karma_i_free(output);
}

static karma_status fail_io(karma_error *err, const char *name, const char *what, int code) {
    return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot %s: %s", name, what, strerror(code));
}

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The target of a symbolic link, as a path from here; NULL if `path` is not a link. */
static char *link_target(const char *path) {
    char text[4096];
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0 || (size_t)length == sizeof text - 1) return NULL;
    text[length] = '\0';
    if (text[0] == '/') return karma_i_strdup(text);
    char *folder = karma_i_directory_of(path), *target = folder ? karma_i_joined_path(folder, text) : NULL;
    karma_i_free(folder);
    return target;
}

/* Links to follow before the path counts as a circle. */
enum { MOST_LINKS = 40 };

/* The file that a symbolic link points to, which need not exist, so that the rename replaces the file and not
 * the link. Every spelling of a file's path gives the same result. */
static char *resolved_path(const char *path) {
    char *real = realpath(path, NULL), *at = karma_i_strdup(real ? real : path), *next;
    for (int links = 0; !real && at && links < MOST_LINKS && (next = link_target(at)) != NULL; links++) {
        karma_i_free(at);
        at = next;
    }
    char *folder = !real && at ? karma_i_directory_of(at) : NULL, *real_folder = folder ? realpath(folder, NULL) : NULL;
    if (real_folder && (next = karma_i_joined_path(real_folder, last_name(at))) != NULL) {
        karma_i_free(at);
        at = next;
    }
    karma_i_free(folder);
    free(real_folder);
    free(real);
    return at;
}

/* How a temporary name is created: as a new file, or as the name of a file that has none. */
typedef int (*name_fn)(const char *name, int file);

static int create_file(const char *name, int file) {
    (void)file;
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int link_file(const char *name, int file) {
    char own[64];
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Finds an unused name next to `path`. On failure *name stays NULL, the result is negative and errno has the reason. */
static int name_beside(char **name, const char *path, name_fn take, int file) {
    size_t size = strlen(path) + 32;
    char *candidate = karma_i_alloc(size, 1);
    int taken = -1;
    errno = ENOMEM;
    for (int attempt = 0; candidate && attempt < 100; attempt++) {
        (void)snprintf(candidate, size, "%s.%ld.%d.part", path, (long)getpid(), attempt);
        taken = take(candidate, file);
        if (taken >= 0 || errno != EEXIST) break;
    }
    if (taken >= 0) {
        *name = candidate;
        return taken;
    }
    int code = errno;
    karma_i_free(candidate);
    errno = code;
    return -1;
}

/* A file without a name in the directory of `path`, which can get one later; negative if the system does not support
 * it. */
static int open_unnamed(const char *path) {
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) != 0) return -1;
    char *directory = karma_i_directory_of(path);
    int file = directory ? open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    karma_i_free(directory);
    return file;
#else
    (void)path;
    return -1;
#endif
}

/* ---- files of dead processes ---- */

/* The process in "NAME.PID.N.part", a temporary name of this file; 0 if it is not one. */
static long owner_of(const char *entry, const char *name) {
    size_t length = strlen(name);
    char *end;
    if (strncmp(entry, name, length) != 0 || entry[length] != '.') return 0;
    const char *digits = entry + length + 1;
    long pid = strtol(digits, &end, 10);
    if (end == digits || *end != '.' || pid <= 0 || pid > INT_MAX) return 0;
    digits = end + 1;
    (void)strtol(digits, &end, 10);
    return end != digits && strcmp(end, ".part") == 0 ? pid : 0;
}

/* Whether there is no process with this number here, and none elsewhere (in another container) with the file
 * open for writing: writers hold a lock. */
static int is_left_behind(const char *path, long pid) {
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH) return 0;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return 0;
    int is_free = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return is_free;
}

/* Removes the temporary files that killed processes left beside `path`. What cannot be removed stays. */
static void remove_stale(const char *path) {
    char *folder = karma_i_directory_of(path);
    DIR *entries = folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        long pid = owner_of(entry->d_name, last_name(path));
        char *stale = pid > 0 ? karma_i_joined_path(folder, entry->d_name) : NULL;
        if (stale && is_left_behind(stale, pid)) (void)unlink(stale);
        karma_i_free(stale);
    }
    if (entries) (void)closedir(entries);
    karma_i_free(folder);
}

/* The usual permissions; those of mkstemp are stricter. */
static int open_beside(char **name, const char *path) {
    remove_stale(path);
    int file = open_unnamed(path);
    if (file < 0) file = name_beside(name, path, create_file, -1);
    if (file >= 0) (void)flock(file, LOCK_EX | LOCK_NB); /* see is_left_behind */
    return file;
}

static karma_status open_temporary(karma_output *output, const char *path, karma_error *err) {
    struct stat info;
    if (path[0] == '\0') return karma_i_fail(err, KARMA_ERR_IO, "the name of the output file is empty");
    int exists = stat(path, &info) == 0;
    if (!exists && errno != ENOENT) return fail_io(err, path, "write", errno);
    if (exists && S_ISDIR(info.st_mode))
        return karma_i_fail(err, KARMA_ERR_IO, "%s: is a directory, not a file to write", path);
    if (exists && !S_ISREG(info.st_mode)) {
        output->stream = fopen(path, "wbe");
        return output->stream ? KARMA_OK : fail_io(err, path, "open for writing", errno);
    }
    if (exists && access(path, W_OK) != 0) return fail_io(err, path, "write", errno);
    output->final_path = resolved_path(path);
    if (!output->final_path) return karma_i_fail_memory(err);
    int file = open_beside(&output->temporary_path, output->final_path);
    if (file < 0) return fail_io(err, path, "write", errno);
    if (exists) (void)fchmod(file, info.st_mode & 07777);
    output->stream = fdopen(file, "wb");
    if (output->stream) return KARMA_OK;
    int code = errno;
    close(file);
    return fail_io(err, path, "write", code);
}

karma_status karma_output_open(karma_output **out, const char *path, karma_error *err) {
    karma_output *output = karma_i_zalloc(1, sizeof *output);
    if (!output) return karma_i_fail_memory(err);
    int standard = !path || strcmp(path, "-") == 0;
    output->name = karma_i_strdup(standard ? "standard output" : path);
    karma_status st = output->name ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && standard) output->stream = stdout;
    if (st == KARMA_OK && !standard) st = open_temporary(output, path, err);
    if (st == KARMA_OK)
        *out = output;
    else
        karma_output_discard(output);
    return st;
}

karma_status karma_i_output_open_sink(karma_output **out, const char *name, karma_i_output_sink sink,
                                      karma_error *err) {
    karma_output *output = karma_i_zalloc(1, sizeof *output);
    if (!output) {
        sink.free(sink.self);
        return karma_i_fail_memory(err);
    }
    output->sink = sink;
    output->name = karma_i_strdup(name);
    karma_status st = output->name ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && !(output->stream = tmpfile())) st = fail_io(err, name, "make a temporary file", errno);
    if (st == KARMA_OK)
        *out = output;
    else
        karma_output_discard(output);
    return st;
}

FILE *karma_output_stream(karma_output *output) {
    return output->stream;
}

static void sync_directory(const char *path) {
    char *directory = karma_i_directory_of(path);
    if (!directory) return;
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        (void)fsync(file); /* some file systems refuse; the data itself is already synced */
        close(file);
    }
    karma_i_free(directory);
}

/* The file will be removed, or is a device: one more byte is harmless. */
static int takes_another_byte(const karma_output *output) {
    struct stat info;
    return output->final_path || (fstat(fileno(output->stream), &info) == 0 && S_ISCHR(info.st_mode));
}

/* Finds out why writing failed earlier: the stream remembers only that it did. Flushing the buffer, or writing one more
 * byte, fails for the same reason. */
static int earlier_failure(const karma_output *output) {
    errno = 0;
    clearerr(output->stream);
    if (fflush(output->stream) == 0 && takes_another_byte(output)) {
        (void)fputc('\0', output->stream);
        (void)fflush(output->stream);
    }
    return errno ? errno : EIO;
}

/* Puts all bytes on the disk under a temporary name. Lack of space or permission is detected here. */
static karma_status prepare(karma_output *output, karma_error *err) {
    FILE *stream = output->stream;
    int code = 0;
    if (ferror(stream))
        code = earlier_failure(output);
    else if (fflush(stream) != 0)
        code = errno;
    if (!code && output->final_path && fsync(fileno(stream)) != 0) code = errno;
    if (!code && output->final_path && !output->temporary_path &&
        name_beside(&output->temporary_path, output->final_path, link_file, fileno(stream)) < 0)
        code = errno;
    if (output->sink.deliver) return code ? fail_io(err, output->name, "write a temporary file for", code) : KARMA_OK;
    output->stream = NULL;
    if (stream != stdout && fclose(stream) != 0 && !code) code = errno;
    return code ? fail_io(err, output->name, "write", code) : KARMA_OK;
}

static karma_status appear(karma_output *output, karma_error *err) {
    if (output->sink.deliver) return output->sink.deliver(output->sink.self, output->stream, err);
    if (!output->final_path) return KARMA_OK;
    if (rename(output->temporary_path, output->final_path) != 0) return fail_io(err, output->name, "write", errno);
    sync_directory(output->final_path);
    karma_i_free(output->temporary_path);
    output->temporary_path = NULL; /* nothing left to remove */
    return KARMA_OK;
}

karma_status karma_output_commit(karma_output *output, karma_error *err) {
    karma_status st = prepare(output, err);
    if (st == KARMA_OK) st = appear(output, err);
    karma_output_discard(output);
    return st;
}

karma_status karma_output_commit_two(karma_output *first, karma_output *second, karma_error *err) {
    karma_status st = KARMA_OK;
    if (first->final_path && second->final_path && strcmp(first->final_path, second->final_path) == 0)
        st = karma_i_fail(err, KARMA_ERR_IO, "%s and %s are the same file", first->name, second->name);
    if (st == KARMA_OK) st = prepare(first, err);
    if (st == KARMA_OK) st = prepare(second, err);
    if (st == KARMA_OK) st = appear(first, err);
    if (st == KARMA_OK) st = appear(second, err);
    karma_output_discard(first);
    karma_output_discard(second);
    return st;
}

void karma_output_discard(karma_output *output) {
    if (!output) return;
    if (output->stream && output->stream != stdout) (void)fclose(output->stream);
    if (output->temporary_path) (void)unlink(output->temporary_path);
    free_output(output);
}
