/* Gradient-boosted trees for comparisons: Python learns them in a separate process, over a socket. trees.py is the
 * other side and describes the protocol. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"
#include "trees_script.h"

extern char **environ;

enum {
    PROBE_SECONDS = 60, /* that a Python may take to say which libraries it has */
    POLL_MS = 200,      /* between two looks at whether the user or the time limit stops it */
    LONGEST_LINE = 4096
};

/* A Python process; pid 0: not started, or ended. */
struct tree_process {
    char *python;
    const char *library;
    pid_t pid;
    int fd;
};

static const struct {
    const char *library, *name, *help;
} records[MOST_TREES] = {
    {"sklearn", "trees-sklearn", "gradient-boosted trees, scikit-learn's HistGradientBoosting, in a Python process"},
    {"xgboost", "trees-xgboost", "gradient-boosted trees, xgboost, in a Python process"},
};

static karma_status fail_trees(karma_error *err, karma_status status, const char *why) {
    if (err) {
        err->status = status;
        (void)snprintf(err->message, sizeof err->message, "%s", why);
    }
    return status;
}

/* --- processes ----------------------------------------------------------------------------------------- */

/* The environment with as many threads as --threads says; to be freed. NULL: out of memory. */
static char **make_environment(char setting[40], int64_t threads) {
    size_t n = 0, used = 0;
    while (environ[n]) n++;
    char **copy = calloc(n + 2, sizeof *copy);
    if (!copy) return NULL;
    (void)snprintf(setting, 40, "OMP_NUM_THREADS=%lld", (long long)threads);
    for (size_t i = 0; i < n; i++)
        if (threads == 0 || strncmp(environ[i], "OMP_NUM_THREADS=", 16) != 0) copy[used++] = environ[i];
    if (threads > 0) copy[used++] = setting;
    return copy;
}

/* Starts Python with the socket as its standard input and output, without standard error. */
static int spawn_with(pid_t *pid, const char *python, const char *argument, int fd, int64_t threads) {
    char setting[40], **environment = make_environment(setting, threads);
    char *const arguments[] = {(char *)python, (char *)"-c", (char *)trees_py, (char *)argument, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (!environment) return 0;
    int ok = posix_spawn_file_actions_init(&actions) == 0;
    if (ok && posix_spawnattr_init(&attributes) == 0) {
        ok = posix_spawn_file_actions_adddup2(&actions, fd, 0) == 0 &&
             posix_spawn_file_actions_adddup2(&actions, fd, 1) == 0 &&
             posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
             posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP) == 0 &&
             posix_spawnattr_setpgroup(&attributes, 0) == 0 && /* Ctrl-C is for the tool */
             posix_spawnp(pid, python, &actions, &attributes, arguments, environment) == 0;
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return ok;
}

static int start_process(struct tree_process *p, const char *argument, int64_t threads) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC); /* its copies at 0 and 1 stay open */
    int ok = spawn_with(&p->pid, p->python, argument, ends[1], threads);
    (void)close(ends[1]);
    p->fd = ends[0];
    if (ok) return 1;
    (void)close(ends[0]);
    p->pid = 0;
    return 0;
}

static void end_process(struct tree_process *p) {
    if (p->pid == 0) return;
    (void)close(p->fd);
    (void)kill(-p->pid, SIGKILL); /* the group: a command may have started others */
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    p->pid = 0;
}

/* --- talking to it -------------------------------------------------------------------------------------- */

/* Waits until the socket can be read or written; asks the hooks meanwhile. */
static karma_status await(const struct tree_process *p, short events, const karma_hooks *hooks, karma_error *err) {
    for (;;) {
        struct pollfd ready = {p->fd, events, 0};
        int n = poll(&ready, 1, POLL_MS);
        if (n > 0) return KARMA_OK;
        if (n < 0 && errno != EINTR) return fail_trees(err, KARMA_ERR_IO, "the socket to Python failed");
        if (hooks && hooks->progress && hooks->progress(hooks->payload, p->library, 0, 0))
            return fail_trees(err, KARMA_ERR_CANCELLED, "cancelled");
    }
}

static karma_status send_bytes(const struct tree_process *p, const void *data, size_t size, const karma_hooks *hooks,
                               karma_error *err) {
    const char *at = data;
    while (size) {
        karma_status st = await(p, POLLOUT, hooks, err);
        if (st != KARMA_OK) return st;
        ssize_t n = send(p->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return fail_trees(err, KARMA_ERR_IO, "Python ended before it answered");
        at += n;
        size -= (size_t)n;
    }
    return KARMA_OK;
}

static karma_status receive_bytes(const struct tree_process *p, void *data, size_t size, const karma_hooks *hooks,
                                  karma_error *err) {
    char *at = data;
    while (size) {
        karma_status st = await(p, POLLIN, hooks, err);
        if (st != KARMA_OK) return st;
        ssize_t n = recv(p->fd, at, size, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return fail_trees(err, KARMA_ERR_IO, "Python ended before it answered");
        at += n;
        size -= (size_t)n;
    }
    return KARMA_OK;
}

/* A line without its end. */
static karma_status receive_line(const struct tree_process *p, char line[LONGEST_LINE], const karma_hooks *hooks,
                                 karma_error *err) {
    for (size_t n = 0; n < LONGEST_LINE; n++) {
        karma_status st = receive_bytes(p, line + n, 1, hooks, err);
        if (st != KARMA_OK) return st;
        if (line[n] != '\n') continue;
        line[n] = '\0';
        return KARMA_OK;
    }
    return fail_trees(err, KARMA_ERR_FORMAT, "the answer of Python is too long");
}

/* --- a request ------------------------------------------------------------------------------------------ */

/* As in --goal. */
#define GOAL_WORD(value, word) [value] = (word),
static const char *const goal_words[] = {KARMA_GOAL_LIST(GOAL_WORD)};
#undef GOAL_WORD

static json_t *request_json(const karma_contest *c) {
    json_t *levels = json_array(), *quantiles = json_array();
    for (size_t j = 0; j < karma_table_n_attributes(c->train); j++) {
        int is_category = karma_table_attribute_kind(c->train, j) == KARMA_COLUMN_CATEGORY;
        (void)json_array_append_new(levels,
                                    json_integer(is_category ? (json_int_t)karma_table_n_levels(c->train, j) : 0));
    }
    for (size_t q = 0; q < c->n_quantiles; q++) (void)json_array_append_new(quantiles, json_real(c->quantiles[q]));
    return json_pack("{s:I, s:I, s:I, s:o, s:I, s:o, s:s, s:I, s:I, s:I, s:I}", "rows",
                     (json_int_t)karma_table_n_rows(c->train), "columns",
                     (json_int_t)karma_table_n_attributes(c->train), "test", (json_int_t)karma_table_n_rows(c->test),
                     "levels", levels, "classes", (json_int_t)c->n_classes, "quantiles", quantiles, "goal",
                     goal_words[c->goal], "seed", (json_int_t)c->seed, "threads", (json_int_t)c->threads, "inner",
                     (json_int_t)c->n_inner, "outputs", (json_int_t)c->n_outputs);
}

static karma_status send_header(const struct tree_process *p, const karma_contest *c, const karma_hooks *hooks,
                                karma_error *err) {
    json_t *object = request_json(c);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    karma_status st =
        text ? send_bytes(p, text, strlen(text), hooks, err) : fail_trees(err, KARMA_ERR_MEMORY, "out of memory");
    if (st == KARMA_OK) st = send_bytes(p, "\n", 1, hooks, err);
    free(text);
    json_decref(object);
    return st;
}

static karma_status send_table(const struct tree_process *p, const karma_table *table, const karma_hooks *hooks,
                               karma_error *err) {
    size_t d = karma_table_n_attributes(table);
    double *row = calloc(d + 1, sizeof *row);
    karma_status st = row ? KARMA_OK : fail_trees(err, KARMA_ERR_MEMORY, "out of memory");
    for (size_t i = 0; st == KARMA_OK && i < karma_table_n_rows(table); i++) {
        for (size_t j = 0; j < d; j++)
            if (!karma_table_cell(table, i, j, &row[j])) row[j] = NAN;
        st = send_bytes(p, row, d * sizeof *row, hooks, err);
    }
    free(row);
    return st;
}

static karma_status send_request(const struct tree_process *p, const karma_contest *c, const karma_hooks *hooks,
                                 karma_error *err) {
    size_t n = karma_table_n_rows(c->train);
    karma_status st = send_header(p, c, hooks, err);
    if (st == KARMA_OK) st = send_table(p, c->train, hooks, err);
    if (st == KARMA_OK) st = send_bytes(p, c->labels, n * sizeof *c->labels, hooks, err);
    if (st == KARMA_OK) st = send_bytes(p, c->weights, n * sizeof *c->weights, hooks, err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        double fold = (double)c->inner[i];
        st = send_bytes(p, &fold, sizeof fold, hooks, err);
    }
    return st == KARMA_OK ? send_table(p, c->test, hooks, err) : st;
}

/* --- an answer ------------------------------------------------------------------------------------------ */

static karma_status read_answer(karma_contest_result *result, const char *line, karma_error *err) {
    json_t *object = json_loads(line, 0, NULL);
    const char *error = json_string_value(json_object_get(object, "error"));
    const char *choice = json_string_value(json_object_get(object, "choice"));
    karma_status st = KARMA_OK;
    if (error)
        st = fail_trees(err, KARMA_ERR_DATA, error);
    else if (!choice)
        st = fail_trees(err, KARMA_ERR_FORMAT, "the answer of Python cannot be read");
    else {
        (void)snprintf(result->choice, sizeof result->choice, "%s", choice);
        result->tune_seconds = json_number_value(json_object_get(object, "tune"));
        result->fit_seconds = json_number_value(json_object_get(object, "fit"));
        result->predict_seconds = json_number_value(json_object_get(object, "predict"));
    }
    json_decref(object);
    return st;
}

static karma_status run_trees(void *payload, double *scores, karma_contest_result *result, const karma_contest *contest,
                              const karma_hooks *hooks, karma_error *err) {
    struct tree_process *p = payload;
    char line[LONGEST_LINE];
    if (p->pid == 0 && !start_process(p, p->library, contest->threads))
        return fail_trees(err, KARMA_ERR_IO, "Python cannot be started");
    karma_status st = send_request(p, contest, hooks, err);
    if (st == KARMA_OK) st = receive_line(p, line, hooks, err);
    if (st == KARMA_OK) st = read_answer(result, line, err);
    if (st == KARMA_OK)
        st = receive_bytes(p, scores, karma_table_n_rows(contest->test) * contest->n_outputs * sizeof *scores, hooks,
                           err);
    if (st != KARMA_OK) end_process(p);
    return st;
}

/* --- which there are ------------------------------------------------------------------------------------ */

/* Stops a Python that does not respond, or everything if the user asks. */
typedef struct probe_watch {
    const karma_hooks *hooks;
    double deadline;
} probe_watch;

static int watch_probe(void *payload, const char *stage, size_t done, size_t total) {
    const probe_watch *w = payload;
    int stop = w->hooks->progress && w->hooks->progress(w->hooks->payload, stage, done, total);
    return stop || now() > w->deadline;
}

/* The libraries of a Python: an object of versions, or NULL. */
static json_t *probe(const char *python, const tool *t) {
    struct tree_process p = {(char *)python, "looking for Python's libraries", 0, -1};
    probe_watch watch = {&t->hooks, now() + PROBE_SECONDS};
    karma_hooks hooks = {watch_probe, NULL, &watch};
    char line[LONGEST_LINE];
    if (!start_process(&p, "probe", t->fit.threads)) return NULL;
    json_t *found = receive_line(&p, line, &hooks, NULL) == KARMA_OK ? json_loads(line, 0, NULL) : NULL;
    end_process(&p);
    return found;
}

static int add_trees(tree_methods *out, size_t which, const char *python) {
    struct tree_process *p = calloc(1, sizeof *p);
    if (p) p->python = strdup(python);
    if (!p || !p->python) {
        free(p);
        return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    }
    p->library = records[which].library;
    out->processes[out->count] = p;
    out->items[out->count++] = (karma_own_method){records[which].name, records[which].help, run_trees, p};
    return EXIT_DONE;
}

/* All libraries of one Python. */
static int take_python(tree_methods *out, const tool *t, const char *python) {
    json_t *found = probe(python, t);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < MOST_TREES; i++)
        if (json_object_get(found, records[i].library)) code = add_trees(out, i, python);
    json_decref(found);
    return code;
}

int find_trees(tree_methods *out, const tool *t) {
    static const char *const usual[] = {"python3", "/usr/bin/python3", "python"};
    const char *given = t->options.python;
    int code = EXIT_DONE;
    *out = (tree_methods){.count = 0};
    if (!t->options.with_trees) return given ? fail_usage(t, "--python needs --with-trees") : EXIT_DONE;
    if (given) code = take_python(out, t, given);
    for (size_t i = 0; !given && code == EXIT_DONE && out->count == 0 && i < sizeof usual / sizeof usual[0]; i++)
        code = take_python(out, t, usual[i]);
    if (code == EXIT_DONE && out->count == 0 && t->hooks.notice) {
        char sentence[300];
        (void)snprintf(sentence, sizeof sentence,
                       "gradient-boosted trees are not compared: %.100s has neither scikit-learn nor xgboost%s",
                       given ? given : "no Python that was found (python3, /usr/bin/python3, python)",
                       given ? "" : "; option 'python' names another");
        t->hooks.notice(t->hooks.payload, sentence);
    }
    return code;
}

void clear_trees(tree_methods *trees) {
    for (size_t i = 0; i < trees->count; i++) {
        end_process(trees->processes[i]);
        free(trees->processes[i]->python);
        free(trees->processes[i]);
    }
    trees->count = 0;
}
