/* Loading is plain reading into a growing buffer; a gzip file is read packed and then unpacked into a second
 * one. Both stop at the size of the machine's memory: an endless pipe or a gzip bomb is an error. */
#include "io/source.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { CHUNK = 1 << 16 };

typedef struct buffer {
    char *bytes;
    size_t length, capacity;
} buffer;

/* Room for `more` bytes and a '\0'. */
static karma_status make_room(buffer *b, size_t more, const char *name, karma_error *err) {
    size_t limit = karma_i_memory_limit();
    void *bytes = b->bytes;
    if (more >= limit || b->length >= limit - more || !karma_i_reserve(&bytes, &b->capacity, b->length + more + 1, 1))
        return karma_i_fail(err, KARMA_ERR_MEMORY, "%s: the file does not fit in memory", name);
    b->bytes = bytes;
    return KARMA_OK;
}

static karma_status read_stream(buffer *b, FILE *stream, const char *name, karma_error *err) {
    for (;;) {
        KARMA_TRY(make_room(b, CHUNK, name, err));
        size_t room = b->capacity - b->length - 1;
        errno = 0;
        size_t got = fread(b->bytes + b->length, 1, room, stream);
        int code = errno;
        b->length += got;
        if (got == room) continue;
        if (ferror(stream))
            return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read: %s", name, strerror(code ? code : EIO));
        b->bytes[b->length] = '\0';
        return KARMA_OK;
    }
}

/* Reads what fstat promises in one go; a file that lies about its size still works. */
static karma_status read_open_file(buffer *b, FILE *stream, const char *name, karma_error *err) {
    struct stat info;
    if (fstat(fileno(stream), &info) == 0) {
        if (S_ISDIR(info.st_mode)) return karma_i_fail(err, KARMA_ERR_IO, "%s: is a directory, not a file", name);
        if (S_ISREG(info.st_mode) && info.st_size > 0) {
            size_t size = (uintmax_t)info.st_size < PTRDIFF_MAX ? (size_t)info.st_size : PTRDIFF_MAX;
            KARMA_TRY(make_room(b, size, name, err));
        }
    }
    return read_stream(b, stream, name, err);
}

static karma_status read_path(buffer *b, const char *path, const char *name, karma_error *err) {
    int standard = strcmp(path, "-") == 0;
    FILE *stream = standard ? stdin : fopen(path, "rbe");
    if (!stream) {
        if (errno == ENOENT) return karma_i_fail(err, KARMA_ERR_IO, "%s: there is no such file", name);
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot open: %s", name, strerror(errno));
    }
    karma_status st = read_open_file(b, stream, name, err);
    if (!standard) (void)fclose(stream);
    return st;
}

static int looks_like_gzip(const char *bytes, size_t length) {
    return length >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

static voidpf zlib_alloc(voidpf opaque, uInt count, uInt size) {
    (void)opaque;
    return karma_i_alloc(count, size);
}

static void zlib_free(voidpf opaque, voidpf memory) {
    (void)opaque;
    karma_i_free(memory);
}

static uInt at_most_uint(size_t n) {
    return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

/* Unpacks until the end of one gzip member; *used bytes of packed[0..length) belonged to it. */
static karma_status unpack_member(buffer *out, size_t *used, z_stream *z, const char *packed, size_t length,
                                  const char *name, karma_error *err) {
    size_t done = 0;
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        KARMA_TRY(make_room(out, CHUNK, name, err));
        uInt given = at_most_uint(length - done), room = at_most_uint(out->capacity - out->length - 1);
        z->next_in = (z_const Bytef *)(packed + done);
        z->avail_in = given;
        z->next_out = (Bytef *)(out->bytes + out->length);
        z->avail_out = room;
        code = inflate(z, Z_NO_FLUSH);
        done += given - z->avail_in;
        out->length += room - z->avail_out;
        if (code == Z_MEM_ERROR) return karma_i_fail_memory(err);
        if (code == Z_BUF_ERROR)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the gzip data end too early; the file is cut short", name);
        if (code != Z_OK && code != Z_STREAM_END)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the gzip data are damaged (%s)", name,
                                z->msg ? z->msg : "bad header");
    }
    *used = done;
    return KARMA_OK;
}

static int all_zero(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i]) return 0;
    return 1;
}

/* Members follow one another; zeros at the end are padding (tapes), anything else is damage. */
static karma_status unpack_members(buffer *out, z_stream *z, const buffer *packed, const char *name, karma_error *err) {
    for (size_t done = 0; done < packed->length;) {
        const char *rest = packed->bytes + done;
        size_t used = 0, left = packed->length - done;
        if (done && !looks_like_gzip(rest, left)) {
            if (all_zero(rest, left)) break;
            return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: something follows the end of the gzip data", name);
        }
        if (inflateReset(z) != Z_OK) return karma_i_fail_memory(err);
        KARMA_TRY(unpack_member(out, &used, z, rest, left, name, err));
        done += used;
    }
    KARMA_TRY(make_room(out, 0, name, err));
    out->bytes[out->length] = '\0';
    return KARMA_OK;
}

/* Replaces the packed bytes by the text. */
static karma_status unpack(buffer *b, const char *name, karma_error *err) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) return karma_i_fail_memory(err);
    buffer text = {NULL, 0, 0};
    karma_status st = unpack_members(&text, &z, b, name, err);
    (void)inflateEnd(&z);
    if (st != KARMA_OK) {
        karma_i_free(text.bytes);
        return st;
    }
    karma_i_free(b->bytes);
    *b = text;
    return KARMA_OK;
}

karma_status karma_i_source_load(karma_i_source *out, const char *path, karma_error *err) {
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    buffer b = {NULL, 0, 0};
    karma_status st = read_path(&b, path, name, err);
    if (st == KARMA_OK && looks_like_gzip(b.bytes, b.length)) st = unpack(&b, name, err);
    if (st == KARMA_OK && b.length == 0) st = karma_i_fail(err, KARMA_ERR_DATA, "%s: the file is empty", name);
    if (st == KARMA_OK)
        *out = (karma_i_source){name, b.bytes, b.length};
    else
        karma_i_free(b.bytes);
    return st;
}

void karma_i_source_clear(karma_i_source *source) {
    karma_i_free(source->text);
    source->text = NULL;
    source->length = 0;
}

/* Index of the first byte that does not belong in a text, or `length`. */
static size_t find_foreign_byte(const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        uint64_t word;
        if (length - i >= sizeof word) { /* eight ASCII characters, none of them NUL, at a stroke */
            memcpy(&word, text + i, sizeof word);
            uint64_t high = word | (word - UINT64_C(0x0101010101010101));
            if (!(high & UINT64_C(0x8080808080808080))) {
                i += sizeof word;
                continue;
            }
        }
        size_t n = text[i] ? karma_i_utf8_length((const unsigned char *)text + i) : 0;
        if (n == 0) return i;
        i += n;
    }
    return length;
}

static size_t line_of(const char *text, size_t position) {
    size_t line = 1;
    for (size_t i = 0; i < position; i++) line += text[i] == '\n';
    return line;
}

karma_status karma_i_source_check_text(karma_i_source *source, karma_error *err) {
    const char *name = source->name;
    const unsigned char *start = (const unsigned char *)source->text;
    if (source->length >= 2 && ((start[0] == 0xff && start[1] == 0xfe) || (start[0] == 0xfe && start[1] == 0xff)))
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line 1: the text is UTF-16; convert the file to UTF-8", name);
    if (source->length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
        source->length -= 3;
        memmove(source->text, source->text + 3, source->length + 1);
        if (source->length == 0) return karma_i_fail(err, KARMA_ERR_DATA, "%s: the file is empty", name);
    }
    size_t i = find_foreign_byte(source->text, source->length);
    if (i == source->length) return KARMA_OK;
    size_t line = line_of(source->text, i);
    if (source->text[i] == '\0')
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: a NUL byte; the file is not text in UTF-8", name,
                            line);
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: byte 0x%02x is not UTF-8; convert the file to UTF-8",
                        name, line, (unsigned)(unsigned char)source->text[i]);
}

char *karma_i_excerpt(char out[KARMA_I_EXCERPT_SIZE], const char *text, size_t length) {
    size_t n = length;
    if (n >= KARMA_I_EXCERPT_SIZE) {
        n = KARMA_I_EXCERPT_SIZE - 4;
        while (n > 0 && karma_i_utf8_continues((unsigned char)text[n])) n--;
    }
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    if (n == length)
        out[n] = '\0';
    else
        memcpy(out + n, "...", 4);
    return out;
}
