/* Bytes come from the file by read(2), or from a supply; those of a gzip file go through a small buffer and
 * inflate. Memory is limited to half of the machine's and a line to 1 GB, so that an endless line, a device
 * or a gzip bomb is an error.
 */
#include "io/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/source.h"

enum { CHUNK = 1 << 16, MOST_STEP = 1 << 20 };
enum { LONGEST_LINE = 1 << 30, LONGEST_BINARY = 1 << 22 }; /* the second: with a NUL byte */

struct karma_i_feed {
    const char *name;
    int file;
    karma_i_supply supply; /* read instead of a file, if set */
    int is_gzip, is_held, is_seekable;
    int raw_ended; /* the file has no more bytes */
    int ended;     /* there is no more text */
    char *bytes;   /* the window is bytes[passed..length), followed by a '\0' */
    size_t passed, length, capacity;
    size_t line_length; /* bytes after the last end of a line, and whether one of them is NUL */
    int line_has_nul;
    size_t origin;    /* bytes that are not text: a byte order mark */
    size_t size_hint; /* size of the file, by its metadata */
    size_t from;      /* if only part of the file is read: its first byte, and how many are left */
    size_t left, until;
    int is_restricted;
    z_stream inflater;
    int has_inflater, in_member; /* inside a gzip member */
    unsigned char *packed;       /* CHUNK bytes read but not unpacked: packed[used..packed_length) */
    size_t used, packed_length;
};

/* --- the file ------------------------------------------------------------------------------------------ */

static karma_status read_bytes(size_t *got, karma_i_feed *f, void *to, size_t room, karma_error *err) {
    ssize_t n;
    if (f->supply.read) {
        KARMA_TRY(f->supply.read(f->supply.self, got, to, room, err));
        f->raw_ended = *got == 0;
        return KARMA_OK;
    }
    if (f->is_restricted && room > f->left) room = f->left;
    do n = read(f->file, to, room < INT_MAX ? room : INT_MAX);
    while (n < 0 && errno == EINTR);
    if (n < 0) return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read: %s", f->name, strerror(errno));
    if (n == 0) f->raw_ended = 1;
    if (f->is_restricted) f->left -= (size_t)n;
    *got = (size_t)n;
    return KARMA_OK;
}

/* Room for `more` bytes and a '\0'. */
static karma_status make_room(karma_i_feed *f, size_t more, karma_error *err) {
    enum { SMALL = 1 << 24 }; /* rows may come one by one, and asking the system takes longer than a row */
    /* half of it: the table needs memory too, and the system kills a process that takes all */
    size_t limit = f->length < SMALL && more < SMALL ? PTRDIFF_MAX : karma_i_memory_limit() / 2;
    if (more >= limit || f->length >= limit - more ||
        !karma_i_reserve(&f->bytes, &f->capacity, f->length + more + 1, 1))
        return karma_i_fail(err, KARMA_ERR_MEMORY, "%s: the file does not fit in memory", f->name);
    return KARMA_OK;
}

/* --- gzip ---------------------------------------------------------------------------------------------- */

static voidpf zlib_alloc(voidpf opaque, uInt count, uInt size) {
    (void)opaque;
    return karma_i_alloc(count, size);
}

static void zlib_free(voidpf opaque, voidpf memory) {
    (void)opaque;
    karma_i_free(memory);
}

static int starts_gzip(const unsigned char *bytes, size_t length) {
    return length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Reads packed bytes: at least `least`, or all that are left. */
static karma_status read_packed(karma_i_feed *f, size_t least, karma_error *err) {
    if (f->packed_length - f->used >= least) return KARMA_OK;
    memmove(f->packed, f->packed + f->used, f->packed_length - f->used);
    f->packed_length -= f->used;
    f->used = 0;
    while (f->packed_length < least && !f->raw_ended) {
        size_t got;
        KARMA_TRY(read_bytes(&got, f, f->packed + f->packed_length, CHUNK - f->packed_length, err));
        f->packed_length += got;
    }
    return KARMA_OK;
}

/* Members follow one another; zeros at the end are padding (from tapes), anything else is an error. */
static karma_status next_member(karma_i_feed *f, karma_error *err) {
    KARMA_TRY(read_packed(f, 2, err));
    if (starts_gzip(f->packed + f->used, f->packed_length - f->used)) {
        if (inflateReset(&f->inflater) != Z_OK) return karma_i_fail_memory(err);
        f->in_member = 1;
        return KARMA_OK;
    }
    for (;;) {
        for (; f->used < f->packed_length; f->used++)
            if (f->packed[f->used])
                return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: there is more after the end of the gzip data", f->name);
        if (f->raw_ended) break;
        KARMA_TRY(read_packed(f, 1, err));
    }
    f->ended = 1;
    return KARMA_OK;
}

/* Unpacks what it can into `room` bytes after the window. */
static karma_status unpack(karma_i_feed *f, size_t room, karma_error *err) {
    if (!f->in_member) return next_member(f, err);
    KARMA_TRY(read_packed(f, 1, err));
    z_stream *z = &f->inflater;
    size_t given = f->packed_length - f->used;
    z->next_in = f->packed + f->used;
    z->avail_in = (uInt)given;
    z->next_out = (Bytef *)(f->bytes + f->length);
    z->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
    uInt offered = z->avail_out;
    int code = inflate(z, Z_NO_FLUSH);
    f->used += given - z->avail_in;
    f->length += offered - z->avail_out;
    if (code == Z_STREAM_END) f->in_member = 0;
    if (code == Z_MEM_ERROR) return karma_i_fail_memory(err);
    if (code == Z_BUF_ERROR && given == 0)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the gzip data end too early; the file is cut short", f->name);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the gzip data are damaged (%s)", f->name,
                            z->msg ? z->msg : "bad header");
    return KARMA_OK;
}

static karma_status start_gzip(karma_i_feed *f, karma_error *err) {
    f->inflater = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free};
    if (inflateInit2(&f->inflater, 16 + MAX_WBITS) != Z_OK) return karma_i_fail_memory(err);
    f->has_inflater = 1;
    f->is_gzip = 1;
    return KARMA_OK;
}

/* --- the window ---------------------------------------------------------------------------------------- */

/* Reads more text after the window, perhaps none. */
static karma_status read_some(karma_i_feed *f, size_t room, karma_error *err) {
    if (f->is_gzip) return unpack(f, room, err);
    if (f->used < f->packed_length) { /* what the look at the start has read */
        size_t n = f->packed_length - f->used;
        memcpy(f->bytes + f->length, f->packed + f->used, n);
        f->length += n;
        f->used = f->packed_length;
        return KARMA_OK;
    }
    size_t got;
    KARMA_TRY(read_bytes(&got, f, f->bytes + f->length, room, err));
    f->length += got;
    f->ended = f->raw_ended;
    return KARMA_OK;
}

/* Checks the lines of the new text, which starts at `before`. */
static karma_status check_line(karma_i_feed *f, size_t before, karma_error *err) {
    size_t start = f->length;
    while (start > before && f->bytes[start - 1] != '\n' && f->bytes[start - 1] != '\r') start--;
    if (start > before) f->line_length = 0, f->line_has_nul = 0;
    f->line_length += f->length - start;
    f->line_has_nul |= memchr(f->bytes + start, '\0', f->length - start) != NULL;
    if (f->line_has_nul && f->line_length > LONGEST_BINARY)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: it has NUL bytes and no lines: it is not a text file", f->name);
    if (f->line_length > LONGEST_LINE)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: a line is longer than 1 GB: it is not a table", f->name);
    return KARMA_OK;
}

static void drop_passed(karma_i_feed *f) {
    if (f->is_held || f->passed == 0) return;
    memmove(f->bytes, f->bytes + f->passed, f->length - f->passed);
    f->length -= f->passed;
    f->passed = 0;
}

/* A signal may also end the waiting. */
int karma_i_feed_wait(const karma_i_feed *f, int milliseconds) {
    if (f->supply.read) return !(f->supply.would_wait && f->supply.would_wait(f->supply.self));
    struct pollfd poll_file = {.fd = f->file, .events = POLLIN};
    if (f->raw_ended || f->used < f->packed_length) return 1;
    int n = poll(&poll_file, 1, milliseconds);
    return n > 0 || (n < 0 && errno != EINTR);
}

karma_status karma_i_feed_fill(karma_i_feed *f, size_t length, int patient, karma_error *err) {
    size_t start = f->length - f->passed;
    drop_passed(f);
    while (!f->ended && f->length - f->passed < length) {
        if (!patient && f->length - f->passed > start && !karma_i_feed_wait(f, 0)) break;
        size_t missing = length - (f->length - f->passed), step = missing < MOST_STEP ? missing : MOST_STEP;
        /* a small file needs little memory */
        if (!f->is_gzip && f->size_hint && step > f->size_hint) step = f->size_hint + 1;
        if (f->is_held && !f->is_gzip && f->size_hint > f->length) step = f->size_hint - f->length + 1;
        if (step < CHUNK) step = CHUNK; /* also room for what the look at the start has read */
        KARMA_TRY(make_room(f, step, err));
        size_t room = f->capacity - f->length - 1, before = f->length;
        KARMA_TRY(read_some(f, room < missing || missing < CHUNK ? room : missing, err));
        KARMA_TRY(check_line(f, before, err));
    }
    KARMA_TRY(make_room(f, 0, err));
    f->bytes[f->length] = '\0';
    return KARMA_OK;
}

const char *karma_i_feed_name(const karma_i_feed *f) {
    return f->name;
}

char *karma_i_feed_text(const karma_i_feed *f, size_t *length) {
    *length = f->length - f->passed;
    return f->bytes ? f->bytes + f->passed : NULL;
}

int karma_i_feed_at_end(const karma_i_feed *f) {
    return f->ended;
}

void karma_i_feed_pass(karma_i_feed *f, size_t length) {
    f->passed += length;
}

void karma_i_feed_hold(karma_i_feed *f) {
    f->is_held = 1;
}

int karma_i_feed_is_seekable(const karma_i_feed *f) {
    return f->is_seekable;
}

karma_status karma_i_feed_rewind(karma_i_feed *f, karma_error *err) {
    f->passed = f->is_held ? f->origin : 0;
    if (f->is_held) return KARMA_OK;
    if (f->is_restricted) return karma_i_feed_restrict(f, f->from, f->until, err);
    if (lseek(f->file, 0, SEEK_SET) < 0)
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read twice: %s", f->name, strerror(errno));
    f->raw_ended = f->ended = f->in_member = 0;
    f->line_length = 0;
    f->line_has_nul = 0;
    f->length = f->used = f->packed_length = 0;
    KARMA_TRY(karma_i_feed_fill(f, f->origin, 1, err));
    f->passed = f->origin < f->length ? f->origin : f->length;
    return KARMA_OK;
}

size_t karma_i_feed_size(const karma_i_feed *f) {
    return f->is_seekable && !f->is_gzip && !f->supply.read ? f->size_hint : 0;
}

size_t karma_i_feed_origin(const karma_i_feed *f) {
    return f->origin;
}

karma_status karma_i_feed_peek(char *out, const karma_i_feed *f, size_t first, size_t n, karma_error *err) {
    while (n > 0) {
        ssize_t got = pread(f->file, out, n, (off_t)first);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read: %s", f->name, strerror(errno));
        if (got == 0) return karma_i_fail(err, KARMA_ERR_IO, "%s: the file became shorter while it was read", f->name);
        out += got;
        first += (size_t)got;
        n -= (size_t)got;
    }
    return KARMA_OK;
}

karma_status karma_i_feed_restrict(karma_i_feed *f, size_t first, size_t end, karma_error *err) {
    if (lseek(f->file, (off_t)first, SEEK_SET) < 0)
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read: %s", f->name, strerror(errno));
    f->is_restricted = 1;
    f->from = first;
    f->until = end;
    f->left = end - first;
    f->raw_ended = f->ended = 0;
    f->line_length = 0;
    f->line_has_nul = 0;
    f->length = f->passed = f->used = f->packed_length = 0;
    return KARMA_OK;
}

void karma_i_feed_skip(karma_i_feed *f, size_t length) {
    f->origin = length;
    f->passed += length;
}

char *karma_i_feed_take(karma_i_feed *f, size_t *length) {
    char *text = f->bytes;
    *length = f->length - f->passed;
    if (f->passed) memmove(text, text + f->passed, *length + 1);
    f->bytes = NULL;
    f->passed = f->length = f->capacity = 0;
    return text;
}

/* --- opening ------------------------------------------------------------------------------------------- */

static karma_status look_at_file(karma_i_feed *f, karma_error *err) {
    struct stat info;
    if (fstat(f->file, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return karma_i_fail(err, KARMA_ERR_IO, "%s: is a directory, not a file", f->name);
        f->is_seekable = S_ISREG(info.st_mode) && lseek(f->file, 0, SEEK_CUR) == 0;
        if (f->is_seekable && info.st_size > 0 && (uintmax_t)info.st_size < PTRDIFF_MAX)
            f->size_hint = (size_t)info.st_size;
    }
    f->packed = karma_i_alloc(CHUNK, 1);
    if (!f->packed) return karma_i_fail_memory(err);
    KARMA_TRY(read_packed(f, 2, err));
    return starts_gzip(f->packed, f->packed_length) ? start_gzip(f, err) : KARMA_OK;
}

karma_status karma_i_feed_open(karma_i_feed **out, const char *path, karma_error *err) {
    int standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        int is_near = KARMA_I_READS_SQLITE && (strstr(name, "?table=") || strncmp(name, "sqlite3:", 8) == 0);
        return karma_i_fail(err, KARMA_ERR_IO, "%s: there is no such file%s", name,
                            is_near ? "; a table of a SQLite file is named sqlite:FILE?table=NAME" : "");
    }
    if (file < 0) return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot open: %s", name, strerror(errno));
    karma_i_feed *f = karma_i_zalloc(1, sizeof *f);
    if (!f) {
        if (!standard) close(file);
        return karma_i_fail_memory(err);
    }
    f->name = name;
    f->file = file;
    karma_status st = look_at_file(f, err);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_feed_close(f);
    return st;
}

karma_status karma_i_feed_open_supply(karma_i_feed **out, const char *name, karma_i_supply supply, karma_error *err) {
    karma_i_feed *f = karma_i_zalloc(1, sizeof *f);
    if (!f) {
        if (supply.close) supply.close(supply.self);
        return karma_i_fail_memory(err);
    }
    f->name = name;
    f->file = -1;
    f->supply = supply;
    *out = f;
    return KARMA_OK;
}

void karma_i_feed_close(karma_i_feed *f) {
    if (!f) return;
    if (f->supply.close) f->supply.close(f->supply.self);
    if (f->has_inflater) (void)inflateEnd(&f->inflater);
    if (f->file > STDIN_FILENO) close(f->file);
    karma_i_free(f->bytes);
    karma_i_free(f->packed);
    karma_i_free(f);
}
