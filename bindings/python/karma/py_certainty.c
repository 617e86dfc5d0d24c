/* Intervals, sets of classes, confidence, their coverage, and what to measure next. */
#include "py_common.h"

/* Rows whose scores are known, and an answer per row that is written into a buffer or a list. */
typedef struct scored_rows {
    const karma_model *model;
    const karma_table *table;
    size_t n_rows;
    Py_buffer scores;
} scored_rows;

/* 0, or -1 with an exception; PyBuffer_Release(&rows->scores) ends it. */
static int open_rows(scored_rows *rows, PyObject *model, PyObject *table, PyObject *scores) {
    rows->model = py_model(model);
    rows->table = rows->model ? py_table(table) : NULL;
    if (!rows->table) return -1;
    rows->n_rows = karma_table_n_rows(rows->table);
    return py_block_open(&rows->scores, scores, 'd', rows->n_rows * karma_model_n_outputs(rows->model), 0);
}

/* (model, table, scores, level, out): out[2, row] are the ends of intervals. */
static PyObject *intervals(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table, *scores, *out;
    scored_rows rows;
    double level;
    Py_buffer ends;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OOOdO", &model, &table, &scores, &level, &out)) return NULL;
    if (open_rows(&rows, model, table, scores) != 0) return NULL;
    int failed = py_block_open(&ends, out, 'd', 2 * rows.n_rows, 1);
    if (!failed) {
        PyThreadState *thread = PyEval_SaveThread();
        double *low = ends.buf;
        karma_status st =
            karma_predict_intervals(low, low + rows.n_rows, rows.model, 0, rows.table, rows.scores.buf, level, &err);
        PyEval_RestoreThread(thread);
        if (st != KARMA_OK) failed = 1, py_fail(&err);
        PyBuffer_Release(&ends);
    }
    PyBuffer_Release(&rows.scores);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* (model, table, scores, level): bytes, 1 where a class is in the set of a row, in the order [row, class]. */
static PyObject *sets(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table, *scores;
    scored_rows rows;
    double level;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OOOd", &model, &table, &scores, &level)) return NULL;
    if (open_rows(&rows, model, table, scores) != 0) return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(rows.n_rows * karma_model_n_classes(rows.model, 0)));
    if (bytes && karma_predict_sets((unsigned char *)PyBytes_AsString(bytes), rows.model, 0, rows.table,
                                    rows.scores.buf, level, &err) != KARMA_OK) {
        py_fail(&err);
        Py_CLEAR(bytes);
    }
    PyBuffer_Release(&rows.scores);
    return bytes;
}

/* (model, table, scores, out, is_accuracy, value): out[row] is the confidence. Returns the threshold of abstention. */
static PyObject *confidence(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table, *scores, *out;
    scored_rows rows;
    Py_buffer to;
    int is_accuracy;
    double value, threshold;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OOOOid", &model, &table, &scores, &out, &is_accuracy, &value)) return NULL;
    if (open_rows(&rows, model, table, scores) != 0) return NULL;
    PyObject *result = NULL;
    if (py_block_open(&to, out, 'd', rows.n_rows, 1) == 0) {
        karma_abstain_rule rule = is_accuracy ? KARMA_ABSTAIN_ACCURACY : KARMA_ABSTAIN_SHARE;
        karma_status st = karma_abstention_threshold(&threshold, rows.model, 0, rule, value, &err);
        if (st == KARMA_OK) st = karma_predict_confidence(to.buf, rows.model, 0, rows.table, rows.scores.buf, &err);
        result = st == KARMA_OK ? PyFloat_FromDouble(threshold) : py_fail(&err);
        PyBuffer_Release(&to);
    }
    PyBuffer_Release(&rows.scores);
    return result;
}

static PyObject *group_tuple(const karma_coverage_group *group) {
    return Py_BuildValue("(nnndd)", (Py_ssize_t)group->least, (Py_ssize_t)group->most, (Py_ssize_t)group->n_rows,
                         group->coverage, group->width);
}

/* (model, table with labels, scores, level): [(least, most, n_rows, coverage, width), ...], all rows first. */
static PyObject *coverage(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table, *scores, *list = NULL;
    scored_rows rows;
    double level;
    karma_coverage found;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OOOd", &model, &table, &scores, &level)) return NULL;
    if (open_rows(&rows, model, table, scores) != 0) return NULL;
    if (karma_measure_coverage(&found, rows.model, 0, rows.table, rows.scores.buf, level, &err) != KARMA_OK)
        py_fail(&err);
    else
        list = PyList_New(0);
    if (list && py_add(list, group_tuple(&found.all)) != 0) Py_CLEAR(list);
    for (size_t g = 0; list && g < found.n_groups; g++)
        if (py_add(list, group_tuple(&found.groups[g])) != 0) Py_CLEAR(list);
    PyBuffer_Release(&rows.scores);
    return list;
}

/* --- what to measure next ------------------------------------------------------------------------------ */

typedef struct measuring {
    const karma_model *model;
    const karma_table *table;
    const double *costs;
    size_t threads;
    karma_next_cells cells;
} measuring;

static karma_status run_next(void *arguments, const karma_hooks *hooks, karma_error *err) {
    measuring *m = arguments;
    return karma_measure_next(&m->cells, m->model, 0, m->table, m->costs, m->threads, hooks, err);
}

/* [(row, attribute, gain, cost, gain per cost, change), ...] */
static PyObject *list_cells(const karma_next_cells *cells) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cells->n_rows; i++)
        for (size_t k = cells->start[i]; list && k < cells->start[i + 1]; k++) {
            const karma_next_cell *c = &cells->cells[k];
            if (py_add(list, Py_BuildValue("(nndddd)", (Py_ssize_t)i, (Py_ssize_t)c->attribute, c->gain, c->cost,
                                           c->per_cost, c->change)) != 0)
                Py_CLEAR(list);
        }
    return list;
}

/* (model, table, costs: one per attribute, threads) */
static PyObject *next_cells(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *model, *table, *costs, *list = NULL;
    Py_ssize_t threads;
    Py_buffer view;
    measuring m = {0};
    if (!PyArg_ParseTuple(args, "OOOn", &model, &table, &costs, &threads)) return NULL;
    m.model = py_model(model);
    m.table = m.model ? py_table(table) : NULL;
    if (!m.table || py_block_open(&view, costs, 'd', karma_model_n_attributes(m.model), 0) != 0) return NULL;
    m.costs = view.buf;
    m.threads = (size_t)threads;
    if (py_do_work(run_next, &m, Py_None, 0.05, 0) == 0) list = list_cells(&m.cells);
    karma_next_cells_clear(&m.cells);
    PyBuffer_Release(&view);
    return list;
}

PyMethodDef py_certainty_methods[] = {
    {"intervals", intervals, METH_VARARGS, "intervals(model, table, scores, level, out)"},
    {"sets", sets, METH_VARARGS, "sets(model, table, scores, level)"},
    {"confidence", confidence, METH_VARARGS, "confidence(model, table, scores, out, is_accuracy, value)"},
    {"coverage", coverage, METH_VARARGS, "coverage(model, table, scores, level)"},
    {"next_cells", next_cells, METH_VARARGS, "next_cells(model, table, costs, threads)"},
    {NULL, NULL, 0, NULL},
};
