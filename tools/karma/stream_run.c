/* karma online on a stream: predict, learn, report, and write a checkpoint now and then. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_page.h"
#include "stream_run.h"

/* Rows that are taken at once, fewer at the beginning; between them the clock, Ctrl-C and the account are checked. */
enum { LEAST_SLICE = 16, SLICE = 512 };

typedef struct stream_run {
    tool *t;
    karma_online *online;
    karma_row_stream *rows;
    const char *path;
    size_t every_rows;    /* a checkpoint is due at multiples of it; 0: never */
    double every_seconds; /* or this many seconds after the last one; 0: never */
    double started, saved_at;
    size_t n_rows, saved_rows;
    /* lines of the table: when the next one is due, and the sums at the last one */
    size_t next_line, line_rows;
    double line_loss, line_errors;
    int classifies, has_title;
    stream_curve curve; /* contents of the lines */
} stream_run;

/* --- options ------------------------------------------------------------------------------------------- */

int was_given(const tool *t, const char *name) {
    size_t length = strlen(name);
    for (int i = 2; i < t->n_words; i++) {
        const char *word = t->words[i];
        if (strcmp(word, "--") == 0) break;
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
            (word[length + 2] == '\0' || word[length + 2] == '='))
            return 1;
    }
    return 0;
}

/* "10000" rows, or "30s". */
static int parse_checkpoint(stream_run *r) {
    const tool *t = r->t;
    const char *text = t->options.checkpoint;
    char *end = NULL;
    if (!text) return EXIT_DONE;
    double value = strtod(text, &end);
    int is_time = end > text && strcmp(end, "s") == 0, is_number = end > text && *end == '\0';
    if (!(is_time && value >= 0.1 && value <= 1e9) &&
        !(is_number && value >= 1.0 && value <= 1e15 && value == floor(value)))
        return fail_usage(
            t, "--checkpoint must be a number of rows, such as 10000, or of seconds, such as 30s, not '%s'", text);
    if (!t->options.output) return fail_usage(t, "--checkpoint needs a file to write: -o MODEL");
    if (is_time)
        r->every_seconds = value;
    else
        r->every_rows = (size_t)value;
    return EXIT_DONE;
}

static int check_options(const tool *t) {
    static const char *const decided[] = {"task", "loss", "kernel", "class-weight", "budget", "warm-up", "seed", NULL};
    if (t->options.output && strcmp(t->options.output, "-") == 0)
        return fail_usage(t, "a model is written to a file, not to standard output");
    if (!t->options.go_on) return EXIT_DONE;
    for (size_t i = 0; decided[i]; i++)
        if (was_given(t, decided[i]))
            return fail_usage(t, "--%s cannot be changed with --continue: the model has its own", decided[i]);
    return EXIT_DONE;
}

/* An option of a new model is refused rather than ignored. */
static int refuse_all(const tool *t, const karma_option_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->options[i].name;
        if (strcmp(name, "solver") != 0 && strcmp(name, "threads") != 0 && was_given(t, name))
            return fail_usage(t, "--%s cannot be changed with --continue: the model has its own", name);
    }
    return EXIT_DONE;
}

int continue_training(tool *t) {
    if (t->fit.solver != KARMA_SOLVER_ONLINE) return fail_usage(t, "--continue needs --solver online");
    if (t->options.compact) return fail_usage(t, "--compact is for a new model, and not for --continue");
    int code = refuse_all(t, karma_fit_option_table());
    if (code == EXIT_DONE) code = refuse_all(t, karma_search_option_table());
    t->regret.threads = t->fit.threads;
    return code == EXIT_DONE ? run_stream(t) : code;
}

/* --- checkpoints --------------------------------------------------------------------------------------- */

/* If a checkpoint cannot be written, learning continues: the previous one is still complete. */
static int save(stream_run *r, int is_last) {
    karma_error err;
    const karma_model *model = NULL;
    const char *path = r->t->options.output;
    karma_status st = karma_online_model(&model, NULL, r->online, &err);
    if (st == KARMA_OK) st = karma_model_save(model, path, &err);
    r->saved_at = now();
    if (st == KARMA_OK) {
        r->saved_rows = r->n_rows;
        return EXIT_DONE;
    }
    if (is_last) return fail(path, &err);
    end_progress();
    fprintf(stderr, "karma: warning: no checkpoint at row %zu: %s; learning goes on\n", r->n_rows, err.message);
    return EXIT_DONE;
}

static void save_if_due(stream_run *r) {
    int by_rows = r->every_rows && r->n_rows % r->every_rows == 0;
    int by_time = r->every_seconds > 0.0 && now() - r->saved_at >= r->every_seconds;
    if (r->n_rows > r->saved_rows && (by_rows || by_time)) (void)save(r, 0);
}

/* The number of rows so far, and their rate. */
static int show_rows(const stream_run *r) {
    return r->t->hooks.progress(r->t->hooks.payload, "rows learned:", r->n_rows, 0);
}

/* Called while no row comes. */
static int on_waiting(void *payload, const char *stage, size_t done, size_t total) {
    stream_run *r = payload;
    if (r->online && r->every_seconds > 0.0) save_if_due(r);
    if (r->n_rows) return show_rows(r);
    return r->t->hooks.progress ? r->t->hooks.progress(r->t->hooks.payload, stage, done, total) : 0;
}

static void on_notice(void *payload, const char *sentence) {
    const stream_run *r = payload;
    if (r->t->hooks.notice) r->t->hooks.notice(r->t->hooks.payload, sentence);
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* 100, 200, 500, 1000, ... */
static size_t line_after(size_t line) {
    size_t digits = line;
    while (digits >= 10) digits /= 10;
    return digits == 2 ? line / 2 * 5 : line * 2;
}

/* The next line becomes a point of the curve. */
static void add_point(stream_run *r, const karma_online_account *a) {
    double judged = (double)(a->n_judged + a->n_unknown), loss = a->mean_loss * (double)a->n_judged;
    double errors = a->error_rate * judged, rows = judged - (double)r->line_rows;
    stream_curve *c = &r->curve;
    size_t i = c->n < MOST_STREAM_POINTS ? c->n++ : MOST_STREAM_POINTS - 1;
    c->rows[i] = judged;
    c->so_far[i] = r->classifies ? a->error_rate : a->mean_loss;
    c->recent[i] = (r->classifies ? errors - r->line_errors : loss - r->line_loss) / rows;
    c->constant = r->classifies ? a->majority_error : NAN;
    c->classifies = r->classifies;
    r->line_rows = (size_t)judged;
    r->line_loss = loss;
    r->line_errors = errors;
}

/* On a terminal: a bar as long as the share of errors, or as the loss relative to that of the first line. */
static void print_curve_bar(const stream_curve *c) {
    enum { BAR = 20 };
    double longest = c->classifies ? fmax(c->constant, c->recent[0]) : c->recent[0];
    size_t width = terminal_width(STDOUT_FILENO), beside = c->classifies ? 66 : 54;
    if (width < beside + 2 + BAR || !(longest > 0.0)) return;
    fputs("  ", stdout);
    for (int i = 0; i < BAR; i++)
        if (((double)i + 0.5) / BAR * longest < c->recent[c->n - 1]) putchar('#');
}

static void print_line(stream_run *r, const karma_online_account *a) {
    const stream_curve *c = &r->curve;
    double judged = c->rows[c->n - 1];
    char share[16], recent[16];
    if (!r->has_title && r->classifies)
        printf("%12s %10s %9s %21s %10s\n", "rows", "loss", "errors", "since last line", "landmarks");
    else if (!r->has_title)
        printf("%12s %10s %19s %10s\n", "rows", "loss", "since last line", "landmarks");
    r->has_title = 1;
    if (r->classifies)
        printf("%12.0f %10.4g %9s %21s %10zu", judged, a->mean_loss, percent(share, a->error_rate),
               percent(recent, c->recent[c->n - 1]), a->n_landmarks);
    else
        printf("%12.0f %10.4g %19.4g %10zu", judged, a->mean_loss, c->recent[c->n - 1], a->n_landmarks);
    print_curve_bar(c);
    putchar('\n');
}

/* The last line is there whenever rows have come since the one before. */
static void note_line_if_due(stream_run *r, const karma_online_account *a, int is_last) {
    size_t judged = a->n_judged + a->n_unknown;
    if (judged <= r->line_rows || (!is_last && judged < r->next_line)) return;
    while (r->next_line <= judged) r->next_line = line_after(r->next_line);
    add_point(r, a);
    if (r->t->options.json || r->t->options.quiet) return;
    end_progress();
    begin_text();
    print_line(r, a);
    (void)fflush(stdout);
}

/* --- the end ------------------------------------------------------------------------------------------- */

static void print_end(const stream_run *r, const karma_model *model, const karma_online_account *a) {
    char errors[16], majority[16];
    printf("\n%s: %zu rows", strcmp(r->path, "-") == 0 ? "standard input" : r->path, a->n_rows);
    if (a->n_unlabelled) printf(", %zu without a label", a->n_unlabelled);
    if (a->n_unknown) printf(", %zu of an unknown class", a->n_unknown);
    puts("; each was predicted before it was learned");
    if (r->classifies)
        printf("  errors         %s; always saying the most frequent class: %s\n", percent(errors, a->error_rate),
               percent(majority, a->majority_error));
    else if (a->absolute_error > 0.0 || a->constant_error > 0.0)
        printf("  error          %.4g on average (mean absolute error); always saying the mean so far: %.4g\n",
               a->absolute_error, a->constant_error);
    printf("  loss           %.4g on average (%s%s)\n", a->mean_loss, karma_model_loss_name(model, 0),
           r->classifies ? "" : ", target in standard deviations");
    fputs("  kernel         ", stdout);
    print_kernel(model);
    printf("  landmarks      %zu row%s of the stream, which the model contains\n", a->n_landmarks,
           a->n_landmarks == 1 ? "" : "s");
    if (!r->t->options.output) {
        puts("  The model was not kept: name a file with -o MODEL.");
        return;
    }
    printf("  Next: karma predict %s NEW; the rows after row %zu, with the header: karma online --continue %s -o %s\n",
           r->t->options.output, a->n_rows, r->t->options.output, r->t->options.output);
}

static json_t *end_json(const stream_run *r, const karma_model *model, const karma_online_account *a) {
    size_t n_judged = a->n_judged + a->n_unknown;
    double absolute = r->classifies ? NAN : a->absolute_error, constant = r->classifies ? NAN : a->constant_error;
    return json_pack("{s:o, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:f}", "model",
                     r->t->options.output ? json_string(r->t->options.output) : json_null(), "target",
                     karma_model_target_name(model, 0), "task", r->classifies ? "classify" : "regress", "loss",
                     karma_model_loss_name(model, 0), "rows", (json_int_t)a->n_rows, "judged", (json_int_t)n_judged,
                     "rows_without_label", (json_int_t)a->n_unlabelled, "rows_of_unknown_class",
                     (json_int_t)a->n_unknown, "landmarks", (json_int_t)a->n_landmarks, "mean_loss", a->mean_loss,
                     "progressive_error", r->classifies ? json_real(a->error_rate) : json_null(), "majority_error",
                     r->classifies ? json_real(a->majority_error) : json_null(), "absolute_error",
                     json_number_or_null(absolute), "constant_error", json_number_or_null(constant), "seconds",
                     now() - r->started);
}

static int finish(stream_run *r) {
    karma_error err;
    const karma_model *model = NULL;
    karma_online_account account;
    if (karma_online_model(&model, &account, r->online, &err) != KARMA_OK) return fail(r->path, &err);
    int code = r->t->options.output ? save(r, 1) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    end_progress();
    note_line_if_due(r, &account, 1);
    report about = {.t = r->t, .model = model, .data = r->path, .stream = &r->curve};
    code = report_result(&about, "Learning from a stream");
    if (code != EXIT_DONE) return code;
    if (r->t->options.json) return print_json(end_json(r, model, &account));
    begin_text();
    if (!r->t->options.quiet) print_end(r, model, &account);
    return finish_stdout();
}

/* --- learning ------------------------------------------------------------------------------------------ */

/* The rows from `first` on: as many as are taken at once, and not more than up to the next checkpoint. */
static karma_status take_slice(size_t *taken, stream_run *r, const karma_table *table, size_t first, karma_error *err) {
    size_t index[SLICE], n = karma_table_n_rows(table) - first;
    karma_table *slice = NULL;
    size_t most = r->n_rows / 8 + LEAST_SLICE;
    if (most > SLICE) most = SLICE;
    if (n > most) n = most;
    if (r->every_rows && n > r->every_rows - r->n_rows % r->every_rows) n = r->every_rows - r->n_rows % r->every_rows;
    for (size_t i = 0; i < n; i++) index[i] = first + i;
    karma_status st = karma_table_select(&slice, table, index, n, err);
    if (st == KARMA_OK) st = karma_online_learn(r->online, slice, &r->t->hooks, err);
    karma_table_free(slice);
    if (st == KARMA_OK) r->n_rows += n;
    *taken = n;
    return st;
}

static karma_status take_part(stream_run *r, const karma_table *table, karma_error *err) {
    karma_online_account account;
    size_t taken = 0;
    for (size_t first = 0; first < karma_table_n_rows(table) && !is_interrupted(); first += taken) {
        karma_status st = take_slice(&taken, r, table, first, err);
        if (st != KARMA_OK) return st;
        karma_online_get_account(&account, r->online);
        note_line_if_due(r, &account, 0);
        save_if_due(r);
        (void)show_rows(r);
    }
    return KARMA_OK;
}

/* Rows until there are no more, or until Ctrl-C. */
static karma_status learn_all(stream_run *r, karma_error *err) {
    for (;;) {
        karma_table *part = NULL;
        karma_status st = karma_row_stream_next(&part, r->rows, err);
        if (st == KARMA_OK && !part) return KARMA_OK;
        if (st == KARMA_OK) st = take_part(r, part, err);
        karma_table_free(part);
        if (st != KARMA_OK || is_interrupted()) return is_interrupted() ? KARMA_OK : st;
    }
}

/* The rows learned before an error are kept. */
static int end_with_error(stream_run *r, const karma_error *err) {
    int code = fail(r->path, err);
    karma_online_account account;
    karma_online_get_account(&account, r->online);
    r->n_rows = account.n_rows;
    if (!r->t->options.output || r->n_rows == r->saved_rows || save(r, 1) != EXIT_DONE) return code;
    fprintf(stderr, "karma: %s has the %zu rows before the error\n", r->t->options.output, r->n_rows);
    return code;
}

static karma_status start(stream_run *r, const karma_hooks *hooks, karma_error *err) {
    tool *t = r->t;
    t->fit.seed = t->regret.seed;
    t->fit.threads = t->read.threads = t->regret.threads;
    if (!t->options.go_on)
        return karma_online_start(&r->online, &r->rows, r->path, &t->read, &t->fit, &t->online, hooks, err);
    karma_status st = karma_online_load(&r->online, t->options.go_on, (size_t)t->regret.threads, err);
    return st == KARMA_OK ? karma_online_rows(&r->rows, r->online, r->path, &t->read, hooks, err) : st;
}

static void begin_account(stream_run *r) {
    karma_online_account a;
    char sentence[400];
    karma_online_get_account(&a, r->online);
    r->n_rows = r->saved_rows = a.n_rows;
    r->line_rows = a.n_judged + a.n_unknown;
    r->line_loss = a.mean_loss * (double)a.n_judged;
    r->line_errors = a.error_rate * (double)r->line_rows;
    r->classifies = karma_online_task(r->online) == KARMA_TASK_CLASSIFY;
    if (!r->t->options.go_on) return;
    (void)snprintf(sentence, sizeof sentence, "%.200s has seen %zu rows: the first row now is taken for row %zu",
                   r->t->options.go_on, a.n_rows, a.n_rows + 1);
    on_notice(r, sentence);
}

int run_stream(tool *t) {
    stream_run r = {.t = t, .path = t->n_arguments ? t->arguments[0] : "-", .started = now(), .next_line = 100};
    karma_hooks hooks = {.progress = on_waiting, .notice = on_notice, .payload = &r};
    karma_error err;
    int code = check_options(t);
    if (code == EXIT_DONE) code = parse_checkpoint(&r);
    if (code != EXIT_DONE) return code;
    if (karma_is_database(r.path)) return fail_usage(t, "a stream is delimited text, and not a database");
    if (!t->options.go_on && t->read.target.count == 0)
        return fail_usage(t, "name the column of the label with --target COL");
    listen_to_termination();
    r.saved_at = r.started;
    if (start(&r, &hooks, &err) != KARMA_OK)
        code = fail(r.path, &err);
    else {
        begin_account(&r);
        karma_status st = learn_all(&r, &err);
        code = st == KARMA_OK ? finish(&r) : end_with_error(&r, &err);
        if (st == KARMA_OK && code == EXIT_DONE && is_interrupted())
            fprintf(stderr, "karma: interrupted after row %zu\n", r.n_rows);
    }
    karma_row_stream_free(r.rows);
    karma_online_free(r.online);
    return code;
}
