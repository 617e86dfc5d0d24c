/* Learning, keeping and using models. */
#include "py_common.h"

#include <stdlib.h>
#include <string.h>

/* The options of a search. `fixed` belongs to this struct and not to the options table. */
typedef struct learning {
    karma_fit_options fit;
    karma_search_options search;
    py_texts fixed;
} learning;

static void close_learning(learning *l) {
    l->search.fixed = (karma_names){NULL, 0};
    py_texts_close(&l->fixed);
    karma_options_clear(karma_search_option_table(), &l->search);
    karma_options_clear(karma_fit_option_table(), &l->fit);
}

static int open_learning(learning *l, PyObject *fit, PyObject *search, PyObject *fixed) {
    if (py_options_fill(karma_fit_option_table(), &l->fit, sizeof l->fit, fit) != 0) return -1;
    if (py_options_fill(karma_search_option_table(), &l->search, sizeof l->search, search) == 0) {
        if (py_texts_open(&l->fixed, fixed, 0) == 0) {
            l->search.fixed = (karma_names){(char **)l->fixed.items, l->fixed.count}; /* borrowed */
            return 0;
        }
        karma_options_clear(karma_search_option_table(), &l->search);
    }
    karma_options_clear(karma_fit_option_table(), &l->fit);
    return -1;
}

/* (model, notices, whether it was interrupted) */
static PyObject *learn(const karma_table *table, const learning *l, PyObject *callback, double interval) {
    py_work work;
    karma_error err;
    karma_model *model = NULL;
    if (py_work_begin(&work, callback, interval) != 0) return NULL;
    karma_status st = karma_search(&model, table, &l->fit, &l->search, &work.hooks, &err);
    PyObject *result = NULL;
    if (py_work_end(&work, st, &err) == 0) {
        PyObject *capsule = py_model_capsule(model);
        if (capsule) result = Py_BuildValue("(NOi)", capsule, work.notices, work.n_interrupts);
    } else
        karma_model_free(model);
    py_work_clear(&work);
    return result;
}

static PyObject *search(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule, *fit, *options, *fixed, *callback;
    double interval;
    learning l;
    if (!PyArg_ParseTuple(args, "OOOOOd", &capsule, &fit, &options, &fixed, &callback, &interval)) return NULL;
    const karma_table *table = py_table(capsule);
    if (!table || open_learning(&l, fit, options, fixed) != 0) return NULL;
    PyObject *result = learn(table, &l, callback, interval);
    close_learning(&l);
    return result;
}

/* --- files --------------------------------------------------------------------------------------------------- */

static PyObject *model_save(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    const char *path;
    karma_error err;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &path)) return NULL;
    const karma_model *model = py_model(capsule);
    if (!model) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_model_save(model, path, &err);
    PyEval_RestoreThread(thread);
    return st == KARMA_OK ? Py_NewRef(Py_None) : py_fail(&err);
}

static PyObject *model_load(PyObject *self, PyObject *args) {
    (void)self;
    const char *path;
    karma_model *model = NULL;
    karma_error err;
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_model_load(&model, path, &err);
    PyEval_RestoreThread(thread);
    return st == KARMA_OK ? py_model_capsule(model) : py_fail(&err);
}

static PyObject *model_to_bytes(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    void *buffer = NULL;
    size_t size = 0;
    karma_error err;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    const karma_model *model = py_model(capsule);
    if (!model) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_model_save_buffer(&buffer, &size, model, &err);
    PyEval_RestoreThread(thread);
    if (st != KARMA_OK) return py_fail(&err);
    PyObject *bytes = PyBytes_FromStringAndSize(buffer, (Py_ssize_t)size);
    karma_buffer_free(buffer);
    return bytes;
}

static PyObject *model_from_bytes(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer view;
    karma_model *model = NULL;
    karma_error err;
    if (!PyArg_ParseTuple(args, "y*", &view)) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_model_load_buffer(&model, view.buf, (size_t)view.len, &err);
    PyEval_RestoreThread(thread);
    PyBuffer_Release(&view);
    return st == KARMA_OK ? py_model_capsule(model) : py_fail(&err);
}

/* --- predictions --------------------------------------------------------------------------------------------- */

/* Fills scores[row, output], float64; returns the notices. */
static PyObject *predict(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *first, *second, *out;
    Py_ssize_t threads;
    Py_buffer scores;
    py_work work;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OOnO", &first, &second, &threads, &out)) return NULL;
    const karma_model *model = py_model(first);
    const karma_table *table = model ? py_table(second) : NULL;
    if (!table || threads < 0) return NULL;
    if (py_block_open(&scores, out, 'd', karma_table_n_rows(table) * karma_model_n_outputs(model), 1) != 0) return NULL;
    PyObject *notices = NULL;
    int failed = py_work_begin(&work, Py_None, 0.05);
    if (!failed) {
        karma_status st = karma_predict(scores.buf, model, table, (size_t)threads, &work.hooks, &err);
        failed = py_work_end(&work, st, &err);
        if (!failed && work.n_interrupts) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            failed = -1;
        }
        if (!failed) notices = Py_NewRef(work.notices);
        py_work_clear(&work);
    }
    PyBuffer_Release(&scores);
    return notices;
}

/* Computes one result from the scores of one row. */
typedef void (*row_fn)(double *out, const karma_model *model, const double *scores);

static void decide_row(double *out, const karma_model *model, const double *scores) {
    *out = (double)karma_model_decide(model, 0, scores);
}

static void number_row(double *out, const karma_model *model, const double *scores) {
    *out = karma_model_number(model, 0, scores);
}

static void probabilities_row(double *out, const karma_model *model, const double *scores) {
    (void)karma_model_probabilities(model, 0, scores, out);
}

/* (model, scores, out): `width` doubles per row. */
static PyObject *each_row(PyObject *args, row_fn function, int one_per_class) {
    PyObject *capsule, *in, *out;
    Py_buffer scores, results;
    if (!PyArg_ParseTuple(args, "OOO", &capsule, &in, &out)) return NULL;
    const karma_model *model = py_model(capsule);
    Py_ssize_t n_rows = model ? PyObject_Size(in) : -1;
    if (n_rows < 0) return NULL;
    size_t n = (size_t)n_rows, K = karma_model_n_outputs(model);
    size_t width = one_per_class ? karma_model_n_classes(model, 0) : 1;
    if (py_block_open(&scores, in, 'd', n * K, 0) != 0) return NULL;
    int failed = py_block_open(&results, out, 'd', n * width, 1);
    if (!failed) {
        for (size_t i = 0; i < n; i++)
            function((double *)results.buf + i * width, model, (const double *)scores.buf + i * K);
        PyBuffer_Release(&results);
    }
    PyBuffer_Release(&scores);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyObject *decide(PyObject *self, PyObject *args) {
    (void)self;
    return each_row(args, decide_row, 0);
}

static PyObject *numbers(PyObject *self, PyObject *args) {
    (void)self;
    return each_row(args, number_row, 0);
}

static PyObject *probabilities(PyObject *self, PyObject *args) {
    (void)self;
    return each_row(args, probabilities_row, 1);
}

PyMethodDef py_model_methods[] = {
    {"search", search, METH_VARARGS, "search(table, fit, search, fixed, callback, interval)"},
    {"model_save", model_save, METH_VARARGS, "model_save(model, path)"},
    {"model_load", model_load, METH_VARARGS, "model_load(path)"},
    {"model_to_bytes", model_to_bytes, METH_VARARGS, "model_to_bytes(model)"},
    {"model_from_bytes", model_from_bytes, METH_VARARGS, "model_from_bytes(bytes)"},
    {"predict", predict, METH_VARARGS, "predict(model, table, threads, out)"},
    {"decide", decide, METH_VARARGS, "decide(model, scores, out)"},
    {"numbers", numbers, METH_VARARGS, "numbers(model, scores, out)"},
    {"probabilities", probabilities, METH_VARARGS, "probabilities(model, scores, out)"},
    {NULL, NULL, 0, NULL},
};
