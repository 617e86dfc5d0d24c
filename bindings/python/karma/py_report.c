/* Explanations, importances, overlaps, completions, kernel values and comparisons. */
#include "py_common.h"

static PyObject *bytes_of(const void *data, size_t n, size_t size) {
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)(n * size));
}

/* A model, a table and options of explanations. */
typedef struct question {
    const karma_model *model;
    const karma_table *table;
    karma_explain_options options;
    karma_explanations explanations;
    karma_importances importances;
} question;

static int open_inquiry(question *q, PyObject *args) {
    PyObject *model, *table, *options;
    *q = (question){0};
    if (!PyArg_ParseTuple(args, "OOO", &model, &table, &options)) return -1;
    q->model = py_model(model);
    q->table = q->model ? py_table(table) : NULL;
    if (!q->table) return -1;
    return py_options_fill(karma_explain_option_table(), &q->options, sizeof q->options, options);
}

static karma_status run_explain(void *arguments, const karma_hooks *hooks, karma_error *err) {
    question *q = arguments;
    return karma_explain(&q->explanations, q->model, q->table, &q->options, hooks, err);
}

/* (is_split, start, attribute: uint64; contribution, error, bias: float64), as bytes. */
static PyObject *explain(PyObject *self, PyObject *args) {
    (void)self;
    question q;
    if (open_inquiry(&q, args) != 0) return NULL;
    PyObject *result = NULL;
    if (py_do_work(run_explain, &q, Py_None, 0.05, 0) == 0) {
        const karma_explanations *e = &q.explanations;
        size_t n_parts = e->start[e->n_rows];
        result = Py_BuildValue("(iNNNNN)", e->is_split, bytes_of(e->start, e->n_rows + 1, sizeof *e->start),
                               bytes_of(e->attribute, n_parts, sizeof *e->attribute),
                               bytes_of(e->contribution, n_parts * e->n_outputs, sizeof *e->contribution),
                               bytes_of(e->error, n_parts * e->n_outputs, sizeof *e->error),
                               bytes_of(e->bias, e->n_rows * e->n_outputs, sizeof *e->bias));
    }
    karma_explanations_clear(&q.explanations);
    karma_options_clear(karma_explain_option_table(), &q.options);
    return result;
}

static karma_status run_importance(void *arguments, const karma_hooks *hooks, karma_error *err) {
    question *q = arguments;
    return karma_measure_importance(&q->importances, q->model, q->table, &q->options, hooks, err);
}

/* (metric, [(attribute, importance, error), ...]) of the first target. */
static PyObject *importance(PyObject *self, PyObject *args) {
    (void)self;
    question q;
    if (open_inquiry(&q, args) != 0) return NULL;
    PyObject *list = NULL, *result = NULL;
    if (py_do_work(run_importance, &q, Py_None, 0.05, 0) == 0) {
        list = PyList_New(0);
        for (size_t k = 0; list && k < q.importances.n_attributes; k++) {
            const karma_importance *item = &q.importances.items[k];
            if (py_add(list, Py_BuildValue("(ndd)", (Py_ssize_t)item->attribute, item->importance, item->error)) != 0)
                Py_CLEAR(list);
        }
        if (list) result = Py_BuildValue("(dN)", q.importances.metric[0], list);
    }
    karma_importances_clear(&q.importances);
    karma_options_clear(karma_explain_option_table(), &q.options);
    return result;
}

static const char *const level_names[] = {"good", "thin", "very thin", "nothing"};

/* [(observed, sharing, share, level), ...], one per row. */
static PyObject *overlap(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *first, *second;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OO", &first, &second)) return NULL;
    const karma_model *model = py_model(first);
    const karma_table *table = model ? py_table(second) : NULL;
    if (!table) return NULL;
    size_t n = karma_table_n_rows(table);
    karma_overlap *overlaps = PyMem_Malloc((n + 1) * sizeof *overlaps);
    if (!overlaps) return PyErr_NoMemory();
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_measure_overlap(overlaps, model, table, NULL, &err);
    PyEval_RestoreThread(thread);
    PyObject *list = st == KARMA_OK ? PyList_New(0) : py_fail(&err);
    for (size_t i = 0; list && i < n; i++)
        if (py_add(list, Py_BuildValue("(nnds)", (Py_ssize_t)overlaps[i].observed, (Py_ssize_t)overlaps[i].sharing,
                                       overlaps[i].share, level_names[overlaps[i].level])) != 0)
            Py_CLEAR(list);
    PyMem_Free(overlaps);
    return list;
}

/* --- completions ------------------------------------------------------------------------------------------------- */

typedef struct completing {
    const karma_model *model;
    const karma_table *table;
    int with_errors;
    size_t threads;
    karma_completion completion;
} completing;

static karma_status run_complete(void *arguments, const karma_hooks *hooks, karma_error *err) {
    completing *c = arguments;
    return karma_complete(&c->completion, c->model, c->table, c->with_errors, c->threads, hooks, err);
}

/* (table, errors or None, n_completed, rank) */
static PyObject *complete(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table;
    Py_ssize_t threads;
    completing c = {0};
    if (!PyArg_ParseTuple(args, "OOpn", &model, &table, &c.with_errors, &threads)) return NULL;
    c.model = py_model(model);
    c.table = c.model ? py_table(table) : NULL;
    c.threads = threads > 0 ? (size_t)threads : 0;
    if (!c.table || py_do_work(run_complete, &c, Py_None, 0.05, 0) != 0) return NULL;
    PyObject *filled = py_table_capsule(c.completion.table);
    c.completion.table = NULL;
    PyObject *errors = c.completion.errors ? py_table_capsule(c.completion.errors) : Py_NewRef(Py_None);
    c.completion.errors = NULL;
    PyObject *result = filled && errors ? Py_BuildValue("(OOnn)", filled, errors, (Py_ssize_t)c.completion.n_completed,
                                                        (Py_ssize_t)c.completion.rank)
                                        : NULL;
    Py_XDECREF(filled);
    Py_XDECREF(errors);
    karma_completion_clear(&c.completion);
    return result;
}

/* --- kernel values --------------------------------------------------------------------------------------------------
 */

typedef struct grammar {
    const karma_table *rows, *against;
    karma_fit_options options;
    float *values;
} grammar;

static karma_status run_gram(void *arguments, const karma_hooks *hooks, karma_error *err) {
    grammar *g = arguments;
    karma_gram *gram = NULL;
    karma_status st = karma_gram_new(&gram, g->rows, g->against, &g->options, hooks, err);
    if (st == KARMA_OK) st = karma_gram_rows(g->values, gram, 0, karma_gram_n_rows(gram), err);
    karma_gram_free(gram);
    return st;
}

/* gram(rows, against or None, fit options, out): out[i, j] = k(row i, row j of the others), float32. */
static PyObject *gram(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *rows, *against, *options, *out;
    grammar g = {0};
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OOOO", &rows, &against, &options, &out)) return NULL;
    g.rows = py_table(rows);
    if (!g.rows) return NULL;
    if (against != Py_None && !(g.against = py_table(against))) return NULL;
    if (py_options_fill(karma_fit_option_table(), &g.options, sizeof g.options, options) != 0) return NULL;
    size_t n = karma_table_n_rows(g.rows) * karma_table_n_rows(g.against ? g.against : g.rows);
    int failed = py_block_open(&view, out, 'f', n, 1);
    if (!failed) {
        g.values = view.buf;
        failed = py_do_work(run_gram, &g, Py_None, 0.05, 0);
        PyBuffer_Release(&view);
    }
    karma_options_clear(karma_fit_option_table(), &g.options);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* --- comparisons ---------------------------------------------------------------------------------------------------
 */

typedef struct contest {
    const karma_table *table;
    karma_fit_options fit;
    karma_search_options search;
    karma_compare_options compare;
    karma_comparison comparison;
} contest;

static karma_status run_compare(void *arguments, const karma_hooks *hooks, karma_error *err) {
    contest *c = arguments;
    return karma_compare(&c->comparison, c->table, &c->fit, &c->search, &c->compare, hooks, err);
}

static PyObject *fold_values(const karma_compare_method *method, size_t n_folds) {
    PyObject *list = PyList_New(0);
    for (size_t f = 0; list && f < n_folds; f++)
        if (py_add(list, PyFloat_FromDouble(method->folds[f].value)) != 0) Py_CLEAR(list);
    return list;
}

static PyObject *method_dict(const karma_compare_method *m, size_t n_folds) {
    double seconds = 0.0;
    for (size_t f = 0; !m->failure && f < n_folds; f++)
        seconds += m->folds[f].tune_seconds + m->folds[f].fit_seconds + m->folds[f].predict_seconds;
    PyObject *dict =
        Py_BuildValue("{s:s, s:s, s:O, s:z, s:d, s:d, s:d, s:d, s:d, s:O, s:d}", "method", m->name, "help", m->help,
                      "is_transductive", m->is_transductive ? Py_True : Py_False, "failure", m->failure, "mean",
                      m->mean, "error", m->error, "difference", m->difference, "p_value", m->p_value, "adjusted_p",
                      m->adjusted_p, "is_worse", m->is_worse ? Py_True : Py_False, "seconds", seconds);
    if (dict && py_put(dict, "values", m->failure ? PyList_New(0) : fold_values(m, n_folds)) != 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *comparison_dict(const karma_comparison *c) {
    PyObject *methods = PyList_New(0);
    for (size_t k = 0; methods && k < c->n_methods; k++)
        if (py_add(methods, method_dict(&c->methods[k], c->n_done)) != 0) Py_CLEAR(methods);
    if (!methods) return NULL;
    return Py_BuildValue("{s:s, s:i, s:n, s:n, s:n, s:n, s:N, s:n, s:N}", "goal", karma_goal_name(c->goal),
                         "less_is_better", karma_goal_is_loss(c->goal), "n_rows", (Py_ssize_t)c->n_rows, "n_folds",
                         (Py_ssize_t)c->n_folds, "n_rounds", (Py_ssize_t)c->n_rounds, "n_done", (Py_ssize_t)c->n_done,
                         "constant", py_floats(c->constant, c->n_done), "best", (Py_ssize_t)c->best, "methods",
                         methods);
}

static PyObject *compare(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *table, *fit, *search, *options, *callback, *result = NULL;
    double interval;
    contest c = {0};
    if (!PyArg_ParseTuple(args, "OOOOOd", &table, &fit, &search, &options, &callback, &interval)) return NULL;
    c.table = py_table(table);
    if (!c.table || py_options_fill(karma_fit_option_table(), &c.fit, sizeof c.fit, fit) != 0) return NULL;
    if (py_options_fill(karma_search_option_table(), &c.search, sizeof c.search, search) == 0) {
        if (py_options_fill(karma_compare_option_table(), &c.compare, sizeof c.compare, options) == 0) {
            if (py_do_work(run_compare, &c, callback, interval, 1) == 0) result = comparison_dict(&c.comparison);
            karma_comparison_clear(&c.comparison);
            karma_options_clear(karma_compare_option_table(), &c.compare);
        }
        karma_options_clear(karma_search_option_table(), &c.search);
    }
    karma_options_clear(karma_fit_option_table(), &c.fit);
    return result;
}

/* [(name, help), ...] of the methods that compare knows. */
static PyObject *methods(PyObject *self, PyObject *args) {
    (void)self;
    (void)args;
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list && k < karma_n_methods(); k++)
        if (py_add(list, Py_BuildValue("(ss)", karma_method_name(k), karma_method_help(k))) != 0) Py_CLEAR(list);
    return list;
}

PyMethodDef py_report_methods[] = {
    {"explain", explain, METH_VARARGS, "explain(model, table, options)"},
    {"importance", importance, METH_VARARGS, "importance(model, table, options)"},
    {"overlap", overlap, METH_VARARGS, "overlap(model, table)"},
    {"complete", complete, METH_VARARGS, "complete(model, table, with_errors, threads)"},
    {"gram", gram, METH_VARARGS, "gram(rows, against, options, out)"},
    {"compare", compare, METH_VARARGS, "compare(table, fit, search, options, callback, interval)"},
    {"methods", methods, METH_NOARGS, "methods()"},
    {NULL, NULL, 0, NULL},
};
