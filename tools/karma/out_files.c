/* The files that a command writes: none of them is an input, no two are the same, and each can be written. All this is
 * checked before any work is done. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

static int is_file(const char *path, const struct stat *file) {
    struct stat info;
    char database[4096];
    if (karma_database_file(database, sizeof database, path)) path = database;
    return stat(path, &info) == 0 && info.st_dev == file->st_dev && info.st_ino == file->st_ino;
}

static int is_standard_input(const struct stat *file) {
    struct stat info;
    return fstat(STDIN_FILENO, &info) == 0 && info.st_dev == file->st_dev && info.st_ino == file->st_ino;
}

/* Overwriting the input would lose it. */
static int is_an_input(const tool *t, const char *path) {
    struct stat output;
    /* the tables that a query reads are not known here */
    for (size_t i = 0; path && !t->read.query && i < t->n_arguments; i++)
        if (karma_is_same_table(t->arguments[i], path)) return 1;
    if (!path || stat(path, &output) != 0 || !S_ISREG(output.st_mode)) return 0;
    for (size_t i = 0; i < t->n_arguments; i++)
        if (strcmp(t->arguments[i], "-") == 0 ? is_standard_input(&output) : is_file(t->arguments[i], &output))
            return 1;
    const char *const others[] = {t->read.users, t->read.gram, t->options.against};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] && is_file(others[i], &output)) return 1;
    return 0;
}

/* --- two outputs ------------------------------------------------------------------------------------------ */

/* A file that need not exist, by its directory and its name there; to be freed. NULL: there is no such directory. */
static char *whole_path(const char *path) {
    char *real = realpath(path, NULL);
    if (real) return real;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;
    char *folder = malloc(length + 2);
    if (!folder) return NULL;
    (void)snprintf(folder, length + 2, "%.*s", slash && length == 0 ? 1 : (int)length, slash ? path : "");
    char *real_folder = realpath(folder[0] ? folder : ".", NULL), *whole = NULL;
    free(folder);
    if (real_folder) whole = malloc(strlen(real_folder) + strlen(name) + 2);
    if (whole) (void)snprintf(whole, strlen(real_folder) + strlen(name) + 2, "%s/%s", real_folder, name);
    free(real_folder);
    return whole;
}

/* Whatever the spelling of the names, and also through links. Devices and pipes take several outputs. */
static int is_same_output(const char *a, const char *b) {
    struct stat one, two;
    if (!a || !b || strcmp(a, "-") == 0 || strcmp(b, "-") == 0 || karma_is_database(a) || karma_is_database(b))
        return 0;
    int exist = (stat(a, &one) == 0) + (stat(b, &two) == 0);
    if (exist == 2) return S_ISREG(one.st_mode) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
    char *x = whole_path(a), *y = whole_path(b);
    int same = strcmp(a, b) == 0 || (x && y && strcmp(x, y) == 0);
    free(x);
    free(y);
    return same;
}

/* The next run with --cache on would replace the output. */
static int is_cache_of_input(const tool *t, const char *path) {
    static const char ending[] = ".karma-cache";
    if (!path || !t->read.cache || t->n_arguments == 0) return 0;
    size_t size = strlen(t->arguments[0]) + sizeof ending;
    char *cache = malloc(size);
    if (cache) (void)snprintf(cache, size, "%s%s", t->arguments[0], ending);
    int same = is_same_output(cache, path);
    free(cache);
    return same;
}

int check_names_of_outputs(const tool *t) {
    const struct {
        const char *flag, *path;
    } outputs[] = {{"-o", t->options.output},
                   {"--errors", t->options.errors},
                   {"--complete", t->options.complete},
                   {"--report", t->options.report}};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        if (is_an_input(t, outputs[i].path))
            return fail_usage(t, "%s %s would overwrite the input", outputs[i].flag, path_text(outputs[i].path));
        if (is_cache_of_input(t, outputs[i].path))
            return fail_usage(t, "%s %s is the file of --cache", outputs[i].flag, path_text(outputs[i].path));
        for (size_t k = 0; k < i; k++)
            if (is_same_output(outputs[k].path, outputs[i].path))
                return fail_usage(t, "%s and %s name the same file", outputs[k].flag, outputs[i].flag);
    }
    return EXIT_DONE;
}

/* --- writing ---------------------------------------------------------------------------------------------- */

static int check_output(const tool *t, const char *path) {
    struct stat info;
    karma_error err;
    karma_output *output = NULL;
    if (!path || strcmp(path, "-") == 0) return EXIT_DONE;
    /* the other end of a pipe or a device would notice that it was opened */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return EXIT_DONE;
    if (karma_output_open_table(&output, path, t->options.replace, &err) != KARMA_OK) return fail(path, &err);
    karma_output_discard(output);
    return EXIT_DONE;
}

/* A second table, which --flag sends to `path`, cannot share standard output. */
static int check_second_output(const tool *t, const char *flag, const char *path) {
    if (path && karma_is_database(path)) return fail_usage(t, "--%s is written to a file, not to a database", flag);
    if (!path || strcmp(path, "-") != 0 || !(t->options.json || writes_stdout(t))) return EXIT_DONE;
    return fail_usage(t, "--%s - needs standard output: use -o FILE, and no --json", flag);
}

int check_outputs(const tool *t) {
    const char *page = t->options.report;
    const char *const paths[] = {t->options.output, page, t->options.errors, t->options.complete};
    if (page && strcmp(page, "-") == 0) return fail_usage(t, "--report writes to a file, not to standard output");
    if (page && karma_is_database(page)) return fail_usage(t, "--report writes to a file, not to a database");
    if (!writes_stdout(t) && karma_is_database(t->options.output) && !has_option(t, "replace"))
        return fail_usage(t, "-o must be a file: %s does not write to databases", t->command->name);
    int code = check_second_output(t, "errors", t->options.errors);
    if (code == EXIT_DONE) code = check_second_output(t, "complete", t->options.complete);
    for (size_t i = 0; code == EXIT_DONE && i < sizeof paths / sizeof paths[0]; i++) code = check_output(t, paths[i]);
    return code;
}
