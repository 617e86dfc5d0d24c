#include "io/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "table/table_archive.h"

static const char ENDING[] = ".karma-cache";
enum { READ_BYTES = 1 << 20, STATE_SIZE = 160 };

struct karma_i_cache {
    const char *input; /* borrowed */
    char *path, *folder;
    char state[STATE_SIZE]; /* of the input: see describe */
    karma_names key;        /* what must match: the version, the state, the options */
    karma_names notices;    /* of reading the input */
    const karma_hooks *outer;
    karma_hooks hooks;
    int lost_notice;
};

/* --- the input ----------------------------------------------------------------------------------------- */

static karma_status fail_to_read(const char *path, int code, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read the file: %s", path, strerror(code));
}

/* Size, time and checksum as a text; without `checksum`, only size and time, which need no reading. */
static int describe(char out[STATE_SIZE], int file, const uint32_t *checksum) {
    struct stat info;
    if (fstat(file, &info) != 0) return 0;
    int n = snprintf(out, STATE_SIZE, "%lld bytes of %lld.%09ld", (long long)info.st_size,
                     (long long)info.st_mtim.tv_sec, (long)info.st_mtim.tv_nsec);
    if (checksum) (void)snprintf(out + n, (size_t)(STATE_SIZE - n), ", %08lx", (unsigned long)*checksum);
    return 1;
}

static karma_status take_checksum(uint32_t *out, int file, const char *path, karma_error *err) {
    char *bytes = karma_i_alloc(READ_BYTES, 1);
    ssize_t got = 0;
    *out = 0;
    while (bytes && (got = read(file, bytes, READ_BYTES)) > 0) *out = karma_i_checksum(*out, bytes, (size_t)got);
    int code = errno;
    karma_i_free(bytes);
    if (!bytes) return karma_i_fail_memory(err);
    return got < 0 ? fail_to_read(path, code, err) : KARMA_OK;
}

/* If a file changes while its checksum is computed, its state is different afterwards. */
static karma_status take_state(karma_i_cache *c, karma_error *err) {
    struct stat info;
    uint32_t checksum = 0;
    int file = open(c->input, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return fail_to_read(c->input, errno, err);
    karma_status st = KARMA_OK;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        st = karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'cache' is for files", c->input);
    if (st == KARMA_OK) st = take_checksum(&checksum, file, c->input, err);
    if (st == KARMA_OK && !describe(c->state, file, &checksum)) st = fail_to_read(c->input, errno, err);
    close(file);
    return st;
}

/* Whether size and time are unchanged. */
static int is_unchanged(const karma_i_cache *c) {
    char now[STATE_SIZE] = "";
    int file = open(c->input, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return 0;
    int known = describe(now, file, NULL);
    close(file);
    return known && strncmp(now, c->state, strlen(now)) == 0;
}

/* --- the key ------------------------------------------------------------------------------------------- */

/* "option=value", with one item of a list. */
static karma_status add_setting(karma_names *key, const char *option, const char *value, karma_error *err) {
    size_t size = strlen(option) + strlen(value) + 2;
    char *text = karma_i_alloc(size, 1);
    if (!text) return karma_i_fail_memory(err);
    (void)snprintf(text, size, "%s=%s", option, value);
    karma_status st = karma_i_names_add(key, text, err);
    karma_i_free(text);
    return st;
}

static karma_status add_option(karma_names *key, const karma_option *option, const karma_read_options *options,
                               karma_error *err) {
    char text[256];
    const char *field = (const char *)options + option->offset;
    if (option->kind == KARMA_OPTION_NAMES) {
        const karma_names *names = (const karma_names *)(const void *)field;
        for (size_t i = 0; i < names->count; i++) KARMA_TRY(add_setting(key, option->name, names->items[i], err));
        return KARMA_OK;
    }
    if (option->kind == KARMA_OPTION_TEXT) {
        const char *value = *(const char *const *)(const void *)field;
        return value ? add_setting(key, option->name, value, err) : KARMA_OK;
    }
    (void)karma_option_text(option, options, text, sizeof text);
    return add_setting(key, option->name, text, err);
}

static karma_status make_key(karma_i_cache *c, const karma_read_options *options, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    KARMA_TRY(add_setting(&c->key, "version", karma_version(), err));
    KARMA_TRY(add_setting(&c->key, "input", c->state, err));
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->options[i].name, "threads") != 0)
            KARMA_TRY(add_option(&c->key, &table->options[i], options, err));
    return KARMA_OK;
}

static int is_same(const karma_names *a, const karma_names *b) {
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* --- open and free --------------------------------------------------------------------------------------- */

static int pass_progress(void *payload, const char *stage, size_t done, size_t total) {
    const karma_i_cache *c = payload;
    return c->outer && c->outer->progress ? c->outer->progress(c->outer->payload, stage, done, total) : 0;
}

static void keep_notice(void *payload, const char *sentence) {
    karma_i_cache *c = payload;
    c->lost_notice |= karma_i_names_add(&c->notices, sentence, NULL) != KARMA_OK;
    karma_i_notice(c->outer, "%s", sentence);
}

static char *with_ending(const char *input) {
    size_t size = strlen(input) + sizeof ENDING;
    char *path = karma_i_alloc(size, 1);
    if (path) (void)snprintf(path, size, "%s%s", input, ENDING);
    return path;
}

karma_status karma_i_cache_open(karma_i_cache **out, const char *input, const karma_read_options *options,
                                const karma_hooks *hooks, karma_error *err) {
    karma_i_cache *c = karma_i_zalloc(1, sizeof *c);
    if (!c) return karma_i_fail_memory(err);
    c->input = input;
    c->outer = hooks;
    c->hooks = (karma_hooks){pass_progress, keep_notice, c};
    c->path = with_ending(input);
    c->folder = karma_i_directory_of(input);
    karma_status st = c->path && c->folder ? take_state(c, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = make_key(c, options, err);
    if (st == KARMA_OK)
        *out = c;
    else
        karma_i_cache_free(c);
    return st;
}

void karma_i_cache_free(karma_i_cache *c) {
    if (!c) return;
    karma_i_free_texts(c->key.items, c->key.count);
    karma_i_free_texts(c->notices.items, c->notices.count);
    karma_i_free(c->path);
    karma_i_free(c->folder);
    karma_i_free(c);
}

const char *karma_i_cache_folder(const karma_i_cache *c) {
    return c->folder;
}
const karma_hooks *karma_i_cache_hooks(karma_i_cache *c) {
    return &c->hooks;
}

/* --- the file ------------------------------------------------------------------------------------------ */

/* Everything but the table; *is_other: it was made from other input. */
static karma_status read_head(int *is_other, karma_names *notices, karma_i_archive *a, const karma_i_cache *c) {
    karma_names key = {NULL, 0};
    karma_status st = karma_i_archive_texts(a, "key", &key.items, &key.count);
    *is_other = st == KARMA_OK && !is_same(&key, &c->key);
    karma_i_free_texts(key.items, key.count);
    if (st != KARMA_OK || *is_other) return st;
    return karma_i_archive_texts(a, "notices", &notices->items, &notices->count);
}

static karma_status read_table(karma_table **out, karma_i_cache *c, karma_i_archive *a, int repeats_notices,
                               karma_error *err) {
    karma_names notices = {NULL, 0};
    int is_other;
    karma_status st = read_head(&is_other, &notices, a, c);
    if (st == KARMA_OK && is_other)
        karma_i_notice(c->outer, "%s: the file or the options are not those that %s was made of: it is read again",
                       c->input, c->path);
    if (st == KARMA_OK && !is_other) st = karma_i_table_restore(out, a, c->folder, err);
    for (size_t i = 0; st == KARMA_OK && repeats_notices && i < notices.count; i++)
        karma_i_notice(c->outer, "%s", notices.items[i]);
    karma_i_free_texts(notices.items, notices.count);
    return st;
}

static karma_status load(karma_table **out, karma_i_cache *c, int repeats_notices, karma_error *err) {
    karma_i_mapped file = {0};
    karma_i_archive *a = NULL;
    KARMA_TRY(karma_i_mapped_open(&file, c->path, err));
    karma_status st = karma_i_archive_open_mapped(&a, c->path, "cache", file.memory, file.size, err);
    if (st == KARMA_OK) st = read_table(out, c, a, repeats_notices, err);
    karma_i_archive_free(a);
    if (st == KARMA_OK && *out)
        (*out)->storage->file = file;
    else
        karma_i_mapped_clear(&file);
    return st;
}

/* The name is not the user's choice. A link may lead to any file, also to the input, and a pipe has no end. */
static int is_file_or_nothing(const karma_i_cache *c) {
    struct stat info;
    return lstat(c->path, &info) != 0 || S_ISREG(info.st_mode);
}

karma_status karma_i_cache_load(karma_table **out, karma_i_cache *c, karma_error *err) {
    karma_error fault = {0};
    *out = NULL;
    if (access(c->path, F_OK) != 0 || !is_file_or_nothing(c)) return KARMA_OK;
    karma_status st = load(out, c, 1, &fault);
    if (st == KARMA_ERR_FORMAT || st == KARMA_ERR_DATA)
        karma_i_notice(c->outer, "%s; %s is read instead", fault.message, c->input);
    else if (st != KARMA_OK && err)
        *err = fault;
    return st == KARMA_ERR_FORMAT || st == KARMA_ERR_DATA ? KARMA_OK : st;
}

static karma_status save(karma_i_cache *c, const karma_table *table, karma_error *err) {
    karma_i_archive *a = NULL;
    size_t size;
    KARMA_TRY(karma_i_archive_new(&a, c->path, err));
    karma_i_archive_call(a, "cache");
    karma_status st = karma_i_archive_texts(a, "key", &c->key.items, &c->key.count);
    if (st == KARMA_OK) st = karma_i_archive_texts(a, "notices", &c->notices.items, &c->notices.count);
    if (st == KARMA_OK) st = karma_i_table_archive(a, table);
    if (st == KARMA_OK) st = karma_i_archive_close(a, &size);
    if (st == KARMA_OK) st = karma_i_archive_save(a, c->path, err);
    karma_i_archive_free(a);
    return st;
}

karma_status karma_i_cache_save(karma_table **out, karma_i_cache *c, const karma_table *table, karma_error *err) {
    karma_error fault = {0};
    *out = NULL;
    if (c->lost_notice) return karma_i_fail_memory(err);
    if (!is_unchanged(c)) {
        karma_i_notice(c->outer, "%s: the file changed while it was read: %s was not written", c->input, c->path);
        return KARMA_OK;
    }
    if (!is_file_or_nothing(c)) {
        karma_i_notice(c->outer, "the cache was not written: %s is a link or a device, not a file", c->path);
        return KARMA_OK;
    }
    karma_status st = save(c, table, &fault);
    if (st == KARMA_OK) st = load(out, c, 0, &fault);
    if (st == KARMA_OK || st == KARMA_ERR_MEMORY) {
        if (err && st != KARMA_OK) *err = fault;
        return st;
    }
    karma_i_notice(c->outer, "the cache was not written: %s", fault.message);
    return KARMA_OK;
}
