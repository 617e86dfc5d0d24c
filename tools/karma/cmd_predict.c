/* karma predict: a model and a table become a CSV of predictions, or JSON. Rows are read, predicted and written part by
 * part, so that memory does not grow with their number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* What to write for one part of the rows. */
typedef struct predictions {
    const karma_model *model;
    const karma_table *table;
    const double *scores;     /* of all its rows */
    double *probabilities;    /* room for those of one target of a row */
    certain_columns *certain; /* one per target */
    abstention abstained;
    karma_cell_flags flags;
    int with_flags;
} predictions;

static const double *scores_of(const predictions *p, size_t row) {
    return p->scores + row * karma_model_n_outputs(p->model);
}
static int is_answered(const predictions *p, size_t row) {
    return !p->abstained.flags || !p->abstained.flags[row];
}

/* One column: what kind of value ("p"), of which target where there are several, and of what ("yes"): "p:yes". */
static void write_name(FILE *stream, const karma_model *model, size_t target, const char *kind, const char *detail) {
    const char *name = karma_model_n_targets(model) > 1 ? karma_model_target_name(model, target) : NULL;
    size_t size = strlen(kind) + (name ? strlen(name) : 0) + (detail ? strlen(detail) : 0) + 3;
    char *text = malloc(size);
    if (text)
        (void)snprintf(text, size, "%s%s%s%s%s", kind, name ? ":" : "", name ? name : "", detail ? ":" : "",
                       detail ? detail : "");
    if (target > 0 || strcmp(kind, "prediction") != 0) fputc(',', stream);
    karma_csv_write_field(stream, text ? text : kind);
    free(text);
}

/* Only several quantiles have columns of their own: one is the prediction. */
static size_t n_quantile_columns(const karma_model *model, size_t target) {
    size_t n = karma_model_n_quantiles(model, target);
    return n > 1 ? n : 0;
}

static void write_target_header(FILE *stream, const predictions *p, size_t target) {
    const karma_model *model = p->model;
    char text[KARMA_NUMBER_SIZE];
    size_t K = karma_model_n_classes(model, target), Q = n_quantile_columns(model, target);
    write_name(stream, model, target, "prediction", NULL);
    if (Q == 0 && karma_model_target_n_outputs(model, target) == 1)
        write_name(stream, model, target, "score", NULL);
    else if (Q == 0)
        for (size_t k = 0; k < K; k++) write_name(stream, model, target, "score", karma_model_class(model, target, k));
    for (size_t q = 0; q < Q; q++)
        write_name(stream, model, target, "q", karma_number_text(text, karma_model_quantile(model, target, q)));
    if (karma_model_has_probabilities(model, target))
        for (size_t k = 0; k < K; k++) write_name(stream, model, target, "p", karma_model_class(model, target, k));
    if (!p->certain[target].is_there) return;
    write_name(stream, model, target, K ? "set" : "low", NULL);
    if (!K) write_name(stream, model, target, "high", NULL);
}

static void write_header(FILE *stream, const predictions *p) {
    write_id_names(stream, p->table);
    for (size_t target = 0; target < karma_model_n_targets(p->model); target++) write_target_header(stream, p, target);
    fputs(p->with_flags ? ",flags\n" : "\n", stream);
}

static void write_answer(FILE *stream, const karma_model *model, size_t target, const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY)
        karma_csv_write_field(stream, karma_model_class(model, target, karma_model_decide(model, target, scores)));
    else
        fputs(karma_number_text(text, karma_model_number(model, target, scores)), stream);
}

/* A row without an answer has an empty prediction; its scores are still written. */
static void write_target(FILE *stream, const predictions *p, size_t row, size_t target) {
    char text[KARMA_NUMBER_SIZE];
    const double *scores = scores_of(p, row);
    size_t first = karma_model_first_output(p->model, target);
    if (target > 0) fputc(',', stream);
    if (is_answered(p, row)) write_answer(stream, p->model, target, scores);
    for (size_t k = 0; k < karma_model_target_n_outputs(p->model, target); k++)
        fprintf(stream, ",%s", karma_number_text(text, scores[first + k]));
    if (karma_model_probabilities(p->model, target, scores, p->probabilities))
        for (size_t k = 0; k < karma_model_n_classes(p->model, target); k++)
            fprintf(stream, ",%s", karma_number_text(text, p->probabilities[k]));
    write_certain_columns(stream, &p->certain[target], p->model, target, row);
}

static void write_rows(FILE *stream, const predictions *p) {
    size_t next = 0;
    for (size_t i = 0; i < karma_table_n_rows(p->table); i++) {
        write_ids(stream, p->table, i);
        for (size_t target = 0; target < karma_model_n_targets(p->model); target++) write_target(stream, p, i, target);
        if (p->with_flags) fputc(',', stream);
        if (p->with_flags) write_row_flags(stream, p->model, &p->flags, i, &next);
        fputc('\n', stream);
    }
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

/* A member of an object. Either may be NULL, where memory ran out. False if it is not there now. */
static int put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

/* The object if everything succeeded, else NULL. */
static json_t *if_ok(json_t *object, int ok) {
    if (ok) return object;
    json_decref(object);
    return NULL;
}

/* An object with a number for each class. */
static json_t *classes_json(const karma_model *model, size_t target, const double *values) {
    json_t *object = json_object();
    int ok = object != NULL;
    for (size_t k = 0; ok && k < karma_model_n_classes(model, target); k++)
        ok = put(object, karma_model_class(model, target, k), json_real(values[k]));
    return if_ok(object, ok);
}

static int add_number_json(json_t *object, const karma_model *model, size_t target, const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    const double *own = scores + karma_model_first_output(model, target);
    size_t Q = n_quantile_columns(model, target);
    int ok = put(object, "prediction", json_real(karma_model_number(model, target, scores)));
    if (!ok || Q == 0) return ok;
    json_t *quantiles = json_object();
    for (size_t q = 0; ok && q < Q; q++)
        ok = put(quantiles, karma_number_text(text, karma_model_quantile(model, target, q)), json_real(own[q]));
    return put(object, "quantiles", if_ok(quantiles, ok));
}

static int add_class_json(json_t *object, const karma_model *model, size_t target, const double *scores,
                          double *probabilities) {
    const double *own = scores + karma_model_first_output(model, target);
    size_t decision = karma_model_decide(model, target, scores);
    int ok = put(object, "prediction", json_string(karma_model_class(model, target, decision)));
    if (karma_model_target_n_outputs(model, target) == 1)
        ok = ok && put(object, "score", json_real(own[0]));
    else
        ok = ok && put(object, "scores", classes_json(model, target, own));
    if (karma_model_probabilities(model, target, scores, probabilities))
        ok = ok && put(object, "probabilities", classes_json(model, target, probabilities));
    return ok;
}

static int add_target_json(json_t *object, const predictions *p, size_t row, size_t target) {
    int ok = karma_model_task(p->model, target) == KARMA_TASK_REGRESS
                 ? add_number_json(object, p->model, target, scores_of(p, row))
                 : add_class_json(object, p->model, target, scores_of(p, row), p->probabilities);
    ok = ok && add_certain_json(object, &p->certain[target], p->model, target, row);
    if (!is_answered(p, row)) ok = ok && put(object, "prediction", json_null());
    return ok;
}

static int add_targets_json(json_t *object, const predictions *p, size_t row) {
    if (karma_model_n_targets(p->model) == 1) return add_target_json(object, p, row, 0);
    json_t *targets = json_object();
    int ok = targets != NULL;
    for (size_t target = 0; ok && target < karma_model_n_targets(p->model); target++) {
        json_t *own = json_object();
        ok = add_target_json(own, p, row, target);
        ok = put(targets, karma_model_target_name(p->model, target), if_ok(own, ok));
    }
    return put(object, "targets", if_ok(targets, ok));
}

/* NULL: out of memory. */
static json_t *row_json(const predictions *p, size_t row, size_t *next_flag) {
    json_t *object = json_object();
    int ok = object != NULL;
    for (size_t i = 0; ok && i < karma_table_n_ids(p->table); i++)
        ok = put(object, karma_table_id_name(p->table, i), json_string(karma_table_id(p->table, i, row)));
    ok = ok && add_targets_json(object, p, row);
    if (ok && p->with_flags) ok = put(object, "flags", row_flags_json(p->model, &p->flags, row, next_flag));
    return if_ok(object, ok);
}

static const char between_json_rows[] = ",\n    ";

/* Rows as members of a list. False: out of memory. */
static int write_json_rows(FILE *stream, const predictions *p, int is_first) {
    size_t next = 0;
    for (size_t i = 0; i < karma_table_n_rows(p->table); i++) {
        json_t *row = row_json(p, i, &next);
        if (!row) return 0;
        if (!is_first || i > 0) fputs(between_json_rows, stream);
        int ok = json_dumpf(row, stream, 0) == 0 || ferror(stream); /* a write error is reported at the end */
        json_decref(row);
        if (!ok) return 0;
    }
    return 1;
}

/* The names of the targets, and the start of the list of rows. False: out of memory. */
static int write_json_start(FILE *stream, const karma_model *model) {
    json_t *name = json_string(karma_model_target_name(model, 0)), *names = target_names_json(model);
    int ok = name && names && json_array_size(names) == karma_model_n_targets(model);
    if (ok) {
        fputs("{\n  \"target\": ", stream);
        ok = json_dumpf(name, stream, JSON_ENCODE_ANY) == 0 || ferror(stream);
        fputs(",\n  \"targets\": ", stream);
        ok = ok && (json_dumpf(names, stream, 0) == 0 || ferror(stream));
        fputs(",\n  \"predictions\": [\n    ", stream);
    }
    json_decref(name);
    json_decref(names);
    return ok;
}

/* --- part by part -------------------------------------------------------------------------------------- */

typedef struct work {
    tool *t;
    const karma_model *model;
    FILE *stream;
    int json; /* the rows are written as JSON */
    double *scores, *probabilities;
    size_t capacity; /* of the scores */
    flag_counts counts;
    size_t n_rows, n_abstained;
    size_t head; /* of several processes: bytes that this one has written in front of its first row */
} work;

static int fail_memory(const work *w) {
    return fail(w->t->arguments[1], &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
}

/* Row numbers in messages are those of a part. */
static int fail_part(const work *w, const karma_table *table, const karma_error *err) {
    karma_error own = *err;
    if (is_together(w->t))
        (void)snprintf(own.message, sizeof own.message, "rows %zu to %zu of process %zu, numbered from 1: %.300s",
                       w->n_rows + 1, w->n_rows + karma_table_n_rows(table), w->t->ranks->rank, err->message);
    else if (w->n_rows)
        (void)snprintf(own.message, sizeof own.message, "rows %zu to %zu, numbered from 1: %.300s", w->n_rows + 1,
                       w->n_rows + karma_table_n_rows(table), err->message);
    return fail(w->t->arguments[1], &own);
}

static int score_part(work *w, const karma_table *table) {
    karma_error err;
    size_t n = karma_table_n_rows(table) * karma_model_n_outputs(w->model);
    if (n > w->capacity) {
        free(w->scores);
        w->capacity = 0;
        w->scores = calloc(n, sizeof *w->scores);
        if (!w->scores) return fail_memory(w);
        w->capacity = n;
    }
    /* notices about columns are printed with the first rows only */
    const karma_hooks *hooks = w->n_rows ? NULL : &w->t->hooks;
    if (karma_predict(w->scores, w->model, table, (size_t)w->t->fit.threads, hooks, &err) == KARMA_OK) return EXIT_DONE;
    return fail_part(w, table, &err);
}

/* The output before the first row. */
static int write_start(work *w, const predictions *p) {
    if (w->json && !write_json_start(w->stream, w->model)) return 0;
    if (!w->json) write_header(w->stream, p);
    long end = is_first_process(w->t) ? 0 : ftell(w->stream);
    w->head = end > 0 ? (size_t)end : 0;
    return 1;
}

static int write_part(work *w, const predictions *p) {
    int is_first = w->n_rows == 0;
    if (is_first && !write_start(w, p)) return fail_memory(w);
    if (w->json && !write_json_rows(w->stream, p, is_first)) return fail_memory(w);
    if (!w->json) write_rows(w->stream, p);
    (void)fflush(w->stream); /* a failure is remembered by the stream */
    return EXIT_DONE;
}

static int answer_part(work *w, const karma_table *table) {
    karma_error err;
    predictions p = {.model = w->model, .table = table, .probabilities = w->probabilities};
    p.with_flags = w->t->options.flags;
    int code = score_part(w, table);
    p.scores = w->scores;
    if (code == EXIT_DONE) code = count_flags(&w->counts, p.with_flags ? &p.flags : NULL, w->t, w->model, table);
    if (code == EXIT_DONE && !find_certain_columns(&p.certain, w->t, w->model, table, w->scores, &err))
        code = fail_part(w, table, &err);
    if (code == EXIT_DONE) code = find_abstention(&p.abstained, w->t, w->model, table, w->scores);
    if (code == EXIT_DONE) code = write_part(w, &p);
    w->n_rows += karma_table_n_rows(table);
    w->n_abstained += p.abstained.count;
    free(p.abstained.flags);
    free_certain_columns(p.certain, karma_model_n_targets(w->model));
    karma_cell_flags_clear(&p.flags);
    return code;
}

/* A progress line, unless the rows themselves go to the screen. */
static void show_rows(const work *w) {
    if (!writes_stdout(w->t) && is_first_process(w->t))
        (void)w->t->hooks.progress(w->t->hooks.payload, "rows predicted:", w->n_rows, 0);
}

static int answer_rows(work *w, karma_row_stream *rows) {
    karma_error err;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && !ferror(w->stream)) {
        karma_table *table;
        if (karma_row_stream_next(&table, rows, &err) != KARMA_OK) return fail(w->t->arguments[1], &err);
        if (!table) break;
        code = answer_part(w, table);
        karma_table_free(table);
        if (code == EXIT_DONE) show_rows(w);
    }
    /* Ctrl-C in a pipe ends the other programs too: the last row that arrived need not be the last row. */
    if (code == EXIT_DONE && is_interrupted())
        return fail(w->t->arguments[1], &(karma_error){KARMA_ERR_CANCELLED, "interrupted before the last row"});
    return code;
}

/* The counts of all processes. */
static void add_counts(work *w) {
    for (size_t j = 0; j < karma_model_n_attributes(w->model); j++) {
        w->counts.unseen[j] = (size_t)sum_of_all(w->t, (double)w->counts.unseen[j]);
        w->counts.outside[j] = (size_t)sum_of_all(w->t, (double)w->counts.outside[j]);
    }
    w->n_rows = (size_t)sum_of_all(w->t, (double)w->n_rows);
    w->n_abstained = (size_t)sum_of_all(w->t, (double)w->n_abstained);
}

/* The rows of the other processes, and the end. */
static int finish_rows(work *w, int code) {
    if (is_together(w->t)) {
        joint_text own = {w->stream, w->head, w->n_rows > 0, w->json ? between_json_rows : ""};
        code = agree(w->t, code);
        if (code == EXIT_DONE) code = join_texts(w->t, &own);
        if (code == EXIT_DONE) add_counts(w);
        if (code == EXIT_DONE && w->n_rows == 0)
            return fail(w->t->arguments[1], &(karma_error){KARMA_ERR_DATA, "no rows"});
    }
    if (code == EXIT_DONE && w->json) {
        fputs("\n  ]", w->stream);
        if (w->t->options.abstain) fprintf(w->stream, ",\n  \"abstained\": %zu", w->n_abstained);
        fputs("\n}\n", w->stream);
    }
    return code;
}

/* Why rows are left empty: no threshold keeps the accuracy of some target, the rows are below it, or they share too
 * little with the training rows. */
static const char *reason_of_abstention(const work *w) {
    abstention_rule rule;
    double threshold = 0.0;
    if (parse_abstention(&rule, w->t) != EXIT_DONE || rule.kind == ABSTAIN_OVERLAP)
        return "the model knows too little about such rows";
    for (size_t k = 0; rule.kind == ABSTAIN_ACCURACY && k < karma_model_n_targets(w->model); k++)
        if (karma_abstention_threshold(&threshold, w->model, k, KARMA_ABSTAIN_ACCURACY, rule.value, NULL) == KARMA_OK &&
            isinf(threshold))
            return "no level of confidence kept this accuracy on the rows that were left out of learning";
    return "the model is not certain enough about such rows";
}

static void note_abstention(const work *w) {
    char sentence[240];
    const tool *t = w->t;
    if (w->n_abstained == 0 || !t->hooks.notice) return;
    (void)snprintf(sentence, sizeof sentence, "%zu of %zu predictions are left empty: %s (--abstain %.40s)",
                   w->n_abstained, w->n_rows, reason_of_abstention(w), t->options.abstain);
    t->hooks.notice(t->hooks.payload, sentence);
}

/* With --json: a description of the file that the predictions were written to. */
static json_t *file_json(const work *w) {
    json_t *object = json_pack("{s:s, s:o, s:s, s:I}", "target", karma_model_target_name(w->model, 0), "targets",
                               target_names_json(w->model), "output", path_text(w->t->options.output), "rows",
                               (json_int_t)w->n_rows);
    int ok = object != NULL;
    if (ok && w->t->options.abstain) ok = put(object, "abstained", json_integer((json_int_t)w->n_abstained));
    return if_ok(object, ok);
}

/* From the first row to the output file, which appears when it is whole. */
static int write_predictions(work *w, karma_row_stream *rows) {
    const tool *t = w->t;
    karma_error err;
    karma_output *output = NULL;
    int code = EXIT_DONE;
    if (karma_output_open_table(&output, t->options.output, t->options.replace, &err) != KARMA_OK)
        code = fail(t->options.output, &err);
    code = agree(t, code);
    if (code == EXIT_DONE) {
        w->stream = karma_output_stream(output);
        code = finish_rows(w, answer_rows(w, rows));
    }
    if (code != EXIT_DONE) {
        karma_output_discard(output);
        return code;
    }
    if (karma_output_commit(output, &err) != KARMA_OK) return fail(t->options.output, &err);
    if (t->options.json && !w->json) code = print_json(file_json(w));
    if (code == EXIT_DONE) note_flags(t, &w->counts, w->model);
    if (code == EXIT_DONE) note_abstention(w);
    return code;
}

/* For processes other than the first: their rows are kept in an unnamed file until the first one asks for them. */
static int write_own_part(work *w, karma_row_stream *rows) {
    int code = EXIT_DONE;
    w->stream = tmpfile();
    if (!w->stream) code = fail(NULL, &(karma_error){KARMA_ERR_IO, "cannot create a temporary file"});
    code = agree(w->t, code);
    if (code == EXIT_DONE) code = finish_rows(w, answer_rows(w, rows));
    if (w->stream) (void)fclose(w->stream);
    return code;
}

static int open_rows(karma_row_stream **out, const tool *t, const karma_model *model) {
    karma_error err;
    const char *path = t->arguments[1];
    karma_status st = is_together(t)
                          ? karma_row_stream_open_split(out, model, path, &t->read, t->ranks, &t->hooks, &err)
                          : karma_row_stream_open(out, model, path, &t->read, &t->hooks, &err);
    return st == KARMA_OK ? EXIT_DONE : fail(path, &err);
}

static size_t most_classes(const karma_model *model) {
    size_t most = 0;
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        if (karma_model_n_classes(model, target) > most) most = karma_model_n_classes(model, target);
    return most;
}

static int predict(tool *t, const karma_model *model) {
    karma_row_stream *rows = NULL;
    work w = {.t = t, .model = model, .json = t->options.json && writes_stdout(t)};
    int code = init_flag_counts(&w.counts, model);
    w.probabilities = calloc(most_classes(model) + 1, sizeof *w.probabilities);
    if (code == EXIT_DONE && !w.probabilities) code = fail_memory(&w);
    code = agree(t, code);
    if (code == EXIT_DONE) code = open_rows(&rows, t, model);
    if (code == EXIT_DONE) code = is_first_process(t) ? write_predictions(&w, rows) : write_own_part(&w, rows);
    karma_row_stream_free(rows);
    clear_flag_counts(&w.counts);
    free(w.probabilities);
    free(w.scores);
    return code;
}

static const char *alone(tool *t) {
    if (strcmp(t->arguments[1], "-") == 0) return "standard input cannot be split";
    return karma_is_database(t->arguments[1]) ? "a database cannot be split" : NULL;
}

static int run(tool *t) {
    karma_model *model;
    abstention_rule rule;
    int code = load_model(t, &model);
    if (code != EXIT_DONE) return agree(t, code);
    code = check_levels(t, model);
    if (code == EXIT_DONE) code = parse_abstention(&rule, t);
    code = agree(t, code);
    if (code == EXIT_DONE) code = predict(t, model);
    karma_model_free(model);
    return code;
}

static const char *const tool_names[] = {"output", "replace", "abstain", "flags", "json", "quiet", NULL};
static const char *const role_names[] = {"id", "ignore", "gram", NULL};
static const char *const certain_names[] = {"intervals", "sets", NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Certainty", karma_fit_option_table, offsetof(tool, fit), certain_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_predict = {
    .name = "predict",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "predict the rows of a table",
    .description =
        "Writes a CSV with one line per row of DATA, in the same order: the id columns, the prediction, and the score "
        "(with more than two classes one score:CLASS each; in a regression the score is the prediction, and several "
        "quantiles have columns q:QUANTILE instead). A model with probabilities adds p:CLASS for every class. "
        "--intervals adds low and high, between which the label of a new row lies with this probability, and --sets "
        "the set of classes; a model that was trained with these options adds them without being asked. With several "
        "targets all these names contain the target's: prediction:TARGET. Columns that the model does not know are "
        "ignored; columns of the model that DATA lacks count as missing. Rows may have any pattern of missing values. "
        "With --abstain, rows about which the model knows too little get an empty prediction: a share of the rows, or "
        "as few as needed for an accuracy, measured on rows that were left out of learning. A notice counts the cells "
        "with categories that the training rows did not have and with numbers outside their range; --flags names them "
        "row by row. DATA and the output may be tables of databases (sqlite:FILE?table=NAME); the output is then "
        "written in one transaction.",
    .example = "  karma predict patients.karma new.csv --id patient -o predictions.csv\n"
               "  zcat new.csv.gz | karma predict patients.karma - | head\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .alone = alone,
    .run = run,
};
