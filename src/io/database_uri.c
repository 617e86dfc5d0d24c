#include "io/database_uri.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/source.h"
#include "karma/database.h"

#ifndef KARMA_HAVE_SQLITE
const karma_i_driver karma_i_sqlite_driver = {.schemes = {"sqlite"}, .is_file = 1, .product = "SQLite"};
#endif
#ifndef KARMA_HAVE_POSTGRES
const karma_i_driver karma_i_postgres_driver = {.schemes = {"postgres", "postgresql"}, .product = "PostgreSQL"};
#endif

static const karma_i_driver *const drivers[] = {&karma_i_sqlite_driver, &karma_i_postgres_driver};

static const double usual_timeout = 5.0;

const karma_i_driver *karma_i_find_driver(const char *path) {
    for (size_t d = 0; d < sizeof drivers / sizeof drivers[0]; d++)
        for (size_t i = 0; i < 3 && drivers[d]->schemes[i]; i++) {
            size_t length = strlen(drivers[d]->schemes[i]);
            if (strncasecmp(path, drivers[d]->schemes[i], length) == 0 && path[length] == ':') return drivers[d];
        }
    return NULL;
}

/* --- without a password -------------------------------------------------------------------------------- */

static int starts(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

/* Appends the first characters of a text, kept on one line. */
static void put(char *out, size_t size, size_t *used, const char *text, size_t length) {
    for (size_t i = 0; i < length && *used + 1 < size; i++)
        out[(*used)++] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    out[*used] = '\0';
}

/* Between the scheme and the parameters: the text between a : and the last @ is a password. */
static void put_place(char *out, size_t size, size_t *used, const char *place, size_t length) {
    const char *at = NULL, *colon = NULL;
    if (memchr(place, '=', length)) { /* keywords are not parsed here and may contain secrets */
        put(out, size, used, "...", 3);
        return;
    }
    for (size_t i = 0; i < length; i++)
        if (place[i] == '@') at = place + i;
    for (const char *p = place; at && p < at && !colon; p++)
        if (*p == ':') colon = p;
    if (!at || !colon) {
        put(out, size, used, place, length);
        return;
    }
    put(out, size, used, place, (size_t)(colon - place));
    put(out, size, used, at, length - (size_t)(at - place));
}

/* Shows or hides a parameter's value, depending on its name. */
static int is_secret(const char *parameter) {
    static const char *const shown[] = {"table=", "timeout=", "host=", "hostaddr=", "port=", "dbname=", "user="};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (starts(parameter, shown[i])) return 0;
    return 1;
}

static void put_parameters(char *out, size_t size, size_t *used, const char *text) {
    char mark = '?';
    while (*text) {
        size_t length = strcspn(text, "&");
        if (!is_secret(text)) {
            put(out, size, used, &mark, 1);
            put(out, size, used, text, length);
            mark = '&';
        }
        text += length + (text[length] == '&');
    }
}

char *karma_source_text(char *text, size_t size, const char *path) {
    const karma_i_driver *driver = karma_i_find_driver(path);
    size_t used = 0;
    if (size == 0) return text;
    text[0] = '\0';
    if (!driver || driver->is_file) {
        put(text, size, &used, path, strlen(path));
        if (!driver) karma_i_hide_passwords(text, size); /* perhaps a misspelt URI */
        return text;
    }
    size_t scheme = strcspn(path, ":") + 1, place = scheme;
    while (path[place] == '/') place++;
    /* never show a password: everything up to the last @ is hidden */
    const char *at = strrchr(path, '@');
    size_t from = at ? (size_t)(at - path) : place, end = from + strcspn(path + from, "?");
    put(text, size, &used, path, place);
    put_place(text, size, &used, path + place, end - place);
    if (path[end]) put_parameters(text, size, &used, path + end + 1);
    return text;
}

karma_status karma_i_check_file_name(const char *path, karma_error *err) {
    size_t length = 0;
    char name[1024];
    while ((path[length] >= 'a' && path[length] <= 'z') || (path[length] >= 'A' && path[length] <= 'Z') ||
           (length && strchr("+-.0123456789", path[length]) && path[length]))
        length++;
    if (length == 0 || !starts(path + length, "://")) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION,
                        "%s: '%.*s' is not a kind of source that is read here; name a file%s or "
                        "postgres://USER@HOST/DATABASE?table=NAME",
                        karma_source_text(name, sizeof name, path), (int)length, path,
                        KARMA_I_READS_SQLITE ? ", sqlite:FILE?table=NAME" : "");
}

int karma_is_database(const char *path) {
    return karma_i_find_driver(path) != NULL;
}

/* --- parsing ------------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* text[0..length) with its escapes resolved, to be freed. */
static karma_status decode(char **out, const karma_i_uri *uri, const char *text, size_t length, karma_error *err) {
    char *decoded = karma_i_alloc(length + 1, 1), *to = decoded;
    if (!decoded) return karma_i_fail_memory(err);
    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (text[i] != '%') {
            *to++ = text[i];
        } else if (low >= 0 && (high || low)) {
            *to++ = (char)(16 * high + low);
            i += 2;
        } else {
            karma_i_free(decoded);
            return karma_i_fail(
                err, KARMA_ERR_OPTION,
                "%s: a %% must be followed by the two digits of a character; write %%25 for a %% itself", uri->name);
        }
    }
    *to = '\0';
    *out = decoded;
    return KARMA_OK;
}

static karma_status read_timeout(karma_i_uri *uri, const char *text, size_t length, karma_error *err) {
    double seconds;
    if (!karma_i_number_parse(&seconds, text, length) || !(seconds >= 0.0 && seconds <= 86400.0))
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: timeout must be seconds, from 0 to 86400", uri->name);
    uri->timeout = seconds;
    return KARMA_OK;
}

/* All parameters of a file are read here; unknown ones of a server are passed on to it in `rest`, which is
 * all zero and has room for all. */
static karma_status read_parameters(karma_i_uri *uri, char *rest, const char *text, karma_error *err) {
    size_t used = 0;
    while (*text) {
        size_t length = strcspn(text, "&");
        if (starts(text, "table=")) {
            if (uri->table)
                return karma_i_fail(err, KARMA_ERR_OPTION, "%s: there are two parameters 'table'", uri->name);
            if (length == 6)
                return karma_i_fail(err, KARMA_ERR_OPTION, "%s: the name of the table is empty", uri->name);
            KARMA_TRY(decode(&uri->table, uri, text + 6, length - 6, err));
        } else if (starts(text, "timeout=")) {
            KARMA_TRY(read_timeout(uri, text + 8, length - 8, err));
        } else if (!uri->driver->is_file) {
            if (used) rest[used++] = '&';
            memcpy(rest + used, text, length);
            used += length;
        } else if (length) {
            char excerpt[KARMA_I_EXCERPT_SIZE];
            return karma_i_fail(
                err, KARMA_ERR_OPTION,
                "%s: unknown parameter '%s'; a URI is sqlite:FILE?table=NAME&timeout=SECONDS, and a ? in "
                "the name of a file is written %%3F",
                uri->name, karma_i_excerpt(excerpt, text, strcspn(text, "=&")));
        }
        text += length + (text[length] == '&');
    }
    return KARMA_OK;
}

static karma_status read_place(karma_i_uri *uri, const char *place, size_t length, const char *rest, karma_error *err) {
    if (uri->driver->is_file) {
        if (length == 0)
            return karma_i_fail(err, KARMA_ERR_OPTION, "%s: the file is not named: sqlite:FILE?table=NAME", uri->name);
        return decode(&uri->place, uri, place, length, err);
    }
    if (memchr(place, '=', length))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "%s: a server is named as postgres://USER@HOST:PORT/DATABASE?table=T", uri->name);
    /* "postgres:DATABASE" is a database on the default server */
    const char *start = starts(place, "//") ? "postgresql:" : "postgresql:///";
    size_t size = strlen(start) + length + strlen(rest) + 2;
    uri->place = karma_i_alloc(size, 1);
    if (!uri->place) return karma_i_fail_memory(err);
    (void)snprintf(uri->place, size, "%s%.*s%s%s", start, (int)length, place, *rest ? "?" : "", rest);
    return KARMA_OK;
}

/* Where the parameters start: at the first ? after the password, which may contain one. */
static size_t parameters_at(const karma_i_uri *uri, const char *place) {
    size_t start = starts(place, "//") ? 2 : 0, at = start + strcspn(place + start, "@/");
    if (uri->driver->is_file || place[at] != '@') at = 0;
    return at + strcspn(place + at, "?");
}

karma_status karma_i_uri_parse(karma_i_uri *out, const char *path, karma_error *err) {
    karma_i_uri *uri = out;
    *uri = (karma_i_uri){.driver = karma_i_find_driver(path), .timeout = usual_timeout};
    size_t size = strlen(path) + 1;
    if (size > 8000) return karma_i_fail(err, KARMA_ERR_OPTION, "the URI of the database is too long");
    uri->name = karma_i_alloc(size, 1);
    char *rest = karma_i_zalloc(size, 1);
    karma_status st = uri->name && rest ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        (void)karma_source_text(uri->name, size, path);
        const char *place = strchr(path, ':') + 1, *mark = place + parameters_at(uri, place);
        st = read_parameters(uri, rest, *mark ? mark + 1 : mark, err);
        if (st == KARMA_OK) st = read_place(uri, place, (size_t)(mark - place), rest, err);
    }
    karma_i_free(rest);
    return st;
}

void karma_i_uri_clear(karma_i_uri *uri) {
    karma_i_free(uri->name);
    karma_i_free(uri->place);
    karma_i_free(uri->table);
    *uri = (karma_i_uri){0};
}

int karma_database_file(char *text, size_t size, const char *path) {
    karma_i_uri uri = {0};
    const karma_i_driver *driver = karma_i_find_driver(path);
    if (!driver || !driver->is_file) return 0;
    int fits = karma_i_uri_parse(&uri, path, NULL) == KARMA_OK && strlen(uri.place) < size;
    if (fits) (void)memcpy(text, uri.place, strlen(uri.place) + 1);
    karma_i_uri_clear(&uri);
    return fits;
}

int karma_is_same_table(const char *first, const char *second) {
    karma_i_uri a = {0}, b = {0};
    karma_i_identity own, other;
    int same = 0;
    if (karma_i_find_driver(first) && karma_i_find_driver(first) == karma_i_find_driver(second) &&
        karma_i_find_driver(first)->identify && karma_i_uri_parse(&a, first, NULL) == KARMA_OK &&
        karma_i_uri_parse(&b, second, NULL) == KARMA_OK && a.driver->identify(&own, &a, NULL) == KARMA_OK &&
        b.driver->identify(&other, &b, NULL) == KARMA_OK)
        same = other.table[0] && strcmp(own.database, other.database) == 0 &&
               (!a.table || strcmp(own.table, other.table) == 0);
    karma_i_uri_clear(&a);
    karma_i_uri_clear(&b);
    return same;
}

/* --- reading ------------------------------------------------------------------------------------------- */

karma_status karma_i_fail_no_table(const karma_i_uri *uri, char *const *tables, size_t n, karma_error *err) {
    char list[200], asked[KARMA_I_EXCERPT_SIZE], meant[KARMA_I_EXCERPT_SIZE];
    const char *const *names = (const char *const *)tables;
    if (n == 0) return karma_i_fail(err, KARMA_ERR_DATA, "%s: the database has no tables", uri->name);
    karma_i_list_names(list, sizeof list, names, n);
    if (!uri->table)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "%s: which table? The database has %s; add ?table=NAME, or use option 'query'", uri->name,
                            list);
    (void)karma_i_excerpt(asked, uri->table, strlen(uri->table));
    const char *nearest = karma_nearest_word(uri->table, names, n);
    if (nearest)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: no table '%s'; did you mean '%s'?", uri->name, asked,
                            karma_i_excerpt(meant, nearest, strlen(nearest)));
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: no table '%s'; the database has %s", uri->name, asked, list);
}

karma_status karma_i_check_query(const karma_i_uri *uri, const char *query, karma_error *err) {
    if (uri->table)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: name a table or use option 'query', not both", uri->name);
    if (query[strspn(query, " \t\r\n;")] == '\0')
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' is empty", uri->name);
    return KARMA_OK;
}

karma_status karma_i_fail_not_built(const karma_i_uri *uri, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: this build of karma has no support for %s", uri->name,
                        uri->driver->product);
}

karma_status karma_i_database_feed(karma_i_feed **out, karma_i_uri *uri, const char *path,
                                   const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_supply supply = {0};
    KARMA_TRY(karma_i_uri_parse(uri, path, err));
    if (!uri->driver->open_rows) return karma_i_fail_not_built(uri, err);
    if (options->query) KARMA_TRY(karma_i_check_query(uri, options->query, err));
    karma_i_rows_request request = {uri, options, hooks};
    KARMA_TRY(uri->driver->open_rows(&supply, &request, err));
    return karma_i_feed_open_supply(out, uri->name, supply, err);
}
