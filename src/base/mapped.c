#define _GNU_SOURCE /* O_TMPFILE */
#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/mem.h"

static karma_status fail_io(const char *name, const char *what, int code, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot %s: %s", name, what, strerror(code));
}

/* Maps all `size` bytes of a file. */
static karma_status map(karma_i_mapped *m, int file, size_t size, int protection, const char *name, karma_error *err) {
    void *memory = mmap(NULL, size, protection, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return fail_io(name, "map the file into memory", errno, err);
    m->memory = memory;
    m->size = size;
    return KARMA_OK;
}

karma_status karma_i_mapped_open(karma_i_mapped *out, const char *path, karma_error *err) {
    struct stat info;
    karma_i_mapped m = {.file = -1};
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return fail_io(path, "open the file", errno, err);
    karma_status st = KARMA_OK;
    if (fstat(file, &info) != 0)
        st = fail_io(path, "read the file", errno, err);
    else if (!S_ISREG(info.st_mode) || info.st_size <= 0)
        st = karma_i_fail(err, KARMA_ERR_FORMAT, "%s: it is empty, or not a file", path);
    else
        st = map(&m, file, (size_t)info.st_size, PROT_READ, path, err);
    close(file); /* the mapping stays */
    if (st == KARMA_OK) *out = m;
    return st;
}

/* A file without a name; if the system has no such files, one whose name is removed at once. */
static karma_status open_unnamed(int *file, const char *folder, karma_error *err) {
#ifdef O_TMPFILE
    *file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0) return KARMA_OK;
#endif
    char *name = karma_i_joined_path(folder, "karma-rows.XXXXXX");
    if (!name) return karma_i_fail_memory(err);
    *file = mkstemp(name);
    int code = errno;
    if (*file >= 0) (void)unlink(name);
    karma_i_free(name);
    return *file >= 0 ? KARMA_OK : fail_io(folder, "keep rows in a temporary file", code, err);
}

karma_status karma_i_mapped_reserve(karma_i_mapped *m, const char *folder, void *array, size_t *capacity, size_t needed,
                                    size_t size, karma_error *err) {
    if (needed <= *capacity) return KARMA_OK;
    size_t grown = *capacity <= SIZE_MAX / 2 && 2 * *capacity > needed ? 2 * *capacity : needed;
    if (grown > PTRDIFF_MAX / size) return karma_i_fail_memory(err);
    karma_i_mapped larger = {.file = m->file};
    if (!m->memory) KARMA_TRY(open_unnamed(&larger.file, folder, err));
    /* writing to a page without space on the disk would kill the process */
    int code = posix_fallocate(larger.file, (off_t)m->size, (off_t)(grown * size - m->size));
    karma_status st = code ? fail_io(folder, "keep rows in a temporary file", code, err)
                           : map(&larger, larger.file, grown * size, PROT_READ | PROT_WRITE, folder, err);
    if (st != KARMA_OK) {
        if (!m->memory) close(larger.file);
        return st;
    }
    if (m->memory) (void)munmap(m->memory, m->size);
    *m = larger;
    memcpy(array, &m->memory, sizeof m->memory);
    *capacity = grown;
    return KARMA_OK;
}

void karma_i_mapped_clear(karma_i_mapped *m) {
    if (!m->memory) return;
    (void)munmap(m->memory, m->size);
    if (m->file >= 0) close(m->file);
    *m = (karma_i_mapped){0};
}
