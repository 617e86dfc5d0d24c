/* Tables from arrays, columns, sparse matrices and Arrow streams, and their cells back. */
#include "py_common.h"

#include <math.h>
#include <string.h>

/* Ends a function that made a table without holding the lock. */
static PyObject *give(karma_table *table, karma_status status, const karma_error *err) {
    return status == KARMA_OK ? py_table_capsule(table) : py_fail(err);
}

/* names: None, or one str per column. */
static int open_names(py_texts *texts, PyObject *names, size_t n_columns) {
    *texts = (py_texts){NULL, NULL, 0};
    if (names == Py_None) return 0;
    if (py_texts_open(texts, names, 0) != 0) return -1;
    if (texts->count == n_columns) return 0;
    PyErr_Format(PyExc_ValueError, "%zu names for %zu columns", texts->count, n_columns);
    py_texts_close(texts);
    return -1;
}

static PyObject *table_from_array(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *object, *names;
    py_array a;
    py_texts texts;
    karma_table *table = NULL;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OO", &object, &names) || py_array_open(&a, object, 2) != 0) return NULL;
    size_t n_rows = (size_t)a.view.shape[0], n_columns = (size_t)a.view.shape[1];
    if (open_names(&texts, names, n_columns) != 0) {
        PyBuffer_Release(&a.view);
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_table_from_strided(&table, a.view.buf, a.type, n_rows, n_columns, a.view.strides[0],
                                               a.view.strides[1], texts.items, &err);
    PyEval_RestoreThread(thread);
    py_texts_close(&texts);
    PyBuffer_Release(&a.view);
    return give(table, st, &err);
}

/* The arrays of a CSR matrix. row_start has one element per row and one more, which counts the others'. */
static PyObject *from_csr(const Py_buffer *view, size_t n_columns, karma_absent absent, PyObject *names) {
    const int64_t *start = view[2].buf;
    size_t n_rows = (size_t)(view[2].len / view[2].itemsize) - 1;
    karma_table *table = NULL;
    karma_error err;
    py_texts texts;
    if (start[0] < 0 || start[n_rows] * (Py_ssize_t)sizeof(double) != view[0].len) {
        PyErr_SetString(PyExc_ValueError, "the sparse matrix has not as many cells as it says");
        return NULL;
    }
    if (open_names(&texts, names, n_columns) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st =
        karma_table_from_csr(&table, view[0].buf, view[1].buf, start, n_rows, n_columns, absent, texts.items, &err);
    PyEval_RestoreThread(thread);
    py_texts_close(&texts);
    return give(table, st, &err);
}

static PyObject *table_from_csr(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *objects[3], *names, *result = NULL;
    Py_ssize_t sizes[3], n_columns;
    Py_buffer view[3];
    int absent_is_zero, n_open = 0;
    if (!PyArg_ParseTuple(args, "OOOnpO", &objects[0], &objects[1], &objects[2], &n_columns, &absent_is_zero, &names))
        return NULL;
    for (int k = 0; k < 3; k++) {
        sizes[k] = PyObject_Size(objects[k]);
        if (sizes[k] < 0) return NULL;
    }
    if (sizes[0] != sizes[1] || sizes[2] < 1 || n_columns < 0) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the sparse matrix do not belong together");
        return NULL;
    }
    while (n_open < 3 &&
           py_block_open(&view[n_open], objects[n_open], n_open ? 'q' : 'd', (size_t)sizes[n_open], 0) == 0)
        n_open++;
    if (n_open == 3)
        result = from_csr(view, (size_t)n_columns, absent_is_zero ? KARMA_ABSENT_ZERO : KARMA_ABSENT_MISSING, names);
    while (n_open > 0) PyBuffer_Release(&view[--n_open]);
    return result;
}

/* --- column by column ---------------------------------------------------------------------------------- */

static int check_length(const Py_buffer *view, size_t n_rows, const char *name) {
    if ((size_t)view->shape[0] == n_rows) return 0;
    PyErr_Format(PyExc_ValueError, "column '%s' has %zd values for %zu rows", name, view->shape[0], n_rows);
    return -1;
}

static int finish_column(karma_status st, const karma_error *err) {
    if (st != KARMA_OK) py_fail(err);
    return st == KARMA_OK ? 0 : -1;
}

static int add_numbers(karma_columns *columns, size_t n_rows, const char *name, PyObject *values) {
    py_array a;
    karma_error err;
    if (py_array_open(&a, values, 1) != 0) return -1;
    int status = check_length(&a.view, n_rows, name);
    if (status == 0)
        status = finish_column(
            karma_columns_add_numbers(columns, name, a.view.buf, a.type, a.view.strides[0], NULL, &err), &err);
    PyBuffer_Release(&a.view);
    return status;
}

static int add_categories(karma_columns *columns, size_t n_rows, const char *name, PyObject *codes, PyObject *levels) {
    Py_buffer view;
    py_texts texts;
    karma_error err;
    if (py_block_open(&view, codes, 'i', n_rows, 0) != 0) return -1;
    int status = py_texts_open(&texts, levels, 0);
    if (status == 0) {
        status = finish_column(
            karma_columns_add_categories(columns, name, view.buf, sizeof(int32_t), texts.items, texts.count, &err),
            &err);
        py_texts_close(&texts);
    }
    PyBuffer_Release(&view);
    return status;
}

/* (name, values) or (name, codes, levels) or (name, codes, levels, is_ordered) */
static int add_column(karma_columns *columns, size_t n_rows, PyObject *item) {
    PyObject *name, *values, *levels = NULL, *is_ordered;
    if (!PyArg_ParseTuple(item, "UO|OO", &name, &values, &levels, &is_ordered)) return -1;
    const char *text = py_text(name);
    if (!text) return -1;
    return levels ? add_categories(columns, n_rows, text, values, levels) : add_numbers(columns, n_rows, text, values);
}

/* The columns that are ordered, in the order of their levels. 0, or -1 with an exception. */
static int order_column(karma_table *table, PyObject *item) {
    PyObject *name, *values, *levels = NULL;
    int is_ordered = 0;
    py_texts texts;
    karma_error err;
    if (!PyArg_ParseTuple(item, "UO|Op", &name, &values, &levels, &is_ordered)) return -1;
    if (!is_ordered) return 0;
    if (py_texts_open(&texts, levels, 0) != 0) return -1;
    int status = finish_column(karma_table_order_category(table, py_text(name), texts.items, texts.count, &err), &err);
    py_texts_close(&texts);
    return status;
}

static PyObject *order_columns(PyObject *capsule, PyObject *list) {
    karma_table *table = capsule ? py_table(capsule) : NULL;
    Py_ssize_t n = table ? PySequence_Size(list) : 0;
    for (Py_ssize_t j = 0; j < n; j++) {
        PyObject *item = PySequence_GetItem(list, j);
        int status = item ? order_column(table, item) : -1;
        Py_XDECREF(item);
        if (status == 0) continue;
        Py_DECREF(capsule);
        return NULL;
    }
    return capsule;
}

static PyObject *table_from_columns(PyObject *self, PyObject *args) {
    (void)self;
    Py_ssize_t n_rows;
    PyObject *list;
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    karma_error err;
    if (!PyArg_ParseTuple(args, "nO", &n_rows, &list)) return NULL;
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0 || n_rows < 0) return NULL;
    if (karma_columns_new(&columns, (size_t)n_rows, &err) != KARMA_OK) return py_fail(&err);
    for (Py_ssize_t j = 0; j < n; j++) {
        PyObject *item = PySequence_GetItem(list, j);
        int status = item ? add_column(columns, (size_t)n_rows, item) : -1;
        Py_XDECREF(item);
        if (status == 0) continue;
        karma_columns_free(columns);
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    karma_status st = karma_columns_finish(&table, columns, &err);
    PyEval_RestoreThread(thread);
    return order_columns(give(table, st, &err), list);
}

static PyObject *table_from_arrow(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    karma_table *table = NULL;
    karma_error err;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!stream) return NULL;
    if (!stream->release) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was consumed before");
        return NULL;
    }
    karma_status st = karma_table_from_arrow_stream(&table, stream, NULL, &err); /* the stream may call Python */
    return give(table, st, &err);
}

/* --- labels and weights ----------------------------------------------------------------------------------- */

static PyObject *table_add_numbers(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule, *values;
    const char *name;
    Py_buffer view;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OsO", &capsule, &name, &values)) return NULL;
    karma_table *table = py_table(capsule);
    if (!table || py_block_open(&view, values, 'd', karma_table_n_rows(table), 0) != 0) return NULL;
    karma_status st = karma_table_add_target_numbers(table, name, view.buf, &err);
    PyBuffer_Release(&view);
    return st == KARMA_OK ? Py_NewRef(Py_None) : py_fail(&err);
}

static PyObject *table_add_classes(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule, *classes;
    const char *name;
    py_texts texts;
    karma_error err = {KARMA_ERR_DATA, "not as many classes as rows"};
    if (!PyArg_ParseTuple(args, "OsO", &capsule, &name, &classes)) return NULL;
    karma_table *table = py_table(capsule);
    if (!table || py_texts_open(&texts, classes, 1) != 0) return NULL;
    karma_status st = texts.count == karma_table_n_rows(table)
                          ? karma_table_add_target_classes(table, name, texts.items, &err)
                          : KARMA_ERR_DATA;
    py_texts_close(&texts);
    return st == KARMA_OK ? Py_NewRef(Py_None) : py_fail(&err);
}

static PyObject *table_set_weights(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule, *weights;
    Py_buffer view;
    karma_error err;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &weights)) return NULL;
    karma_table *table = py_table(capsule);
    if (!table || py_block_open(&view, weights, 'd', karma_table_n_rows(table), 0) != 0) return NULL;
    karma_status st = karma_table_set_row_weights(table, view.buf, &err);
    PyBuffer_Release(&view);
    return st == KARMA_OK ? Py_NewRef(Py_None) : py_fail(&err);
}

/* --- what is in a table ------------------------------------------------------------------------------------ */

static PyObject *column_levels(const karma_table *table, size_t attribute) {
    PyObject *levels = PyList_New(0);
    for (size_t k = 0; levels && k < karma_table_n_levels(table, attribute); k++)
        if (py_add(levels, PyUnicode_FromString(karma_table_level(table, attribute, k))) != 0) Py_CLEAR(levels);
    return levels;
}

/* [(name, is_category, levels), ...] */
static PyObject *table_columns(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    const karma_table *table = py_table(capsule);
    if (!table) return NULL;
    PyObject *list = PyList_New(0);
    for (size_t j = 0; list && j < karma_table_n_attributes(table); j++) {
        PyObject *levels = column_levels(table, j);
        PyObject *is_category = PyBool_FromLong(karma_table_attribute_kind(table, j) == KARMA_COLUMN_CATEGORY);
        PyObject *item =
            levels ? Py_BuildValue("(sOO)", karma_table_attribute_name(table, j), is_category, levels) : NULL;
        Py_XDECREF(levels);
        Py_XDECREF(is_category);
        if (py_add(list, item) != 0) Py_CLEAR(list);
    }
    return list;
}

/* Fills a row-major array of doubles: a number, the index of a level, or NaN. */
static PyObject *table_cells(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule, *out;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &out)) return NULL;
    const karma_table *table = py_table(capsule);
    if (!table) return NULL;
    size_t n = karma_table_n_rows(table), d = karma_table_n_attributes(table);
    if (py_block_open(&view, out, 'd', n * d, 1) != 0) return NULL;
    double *cells = view.buf;
    PyThreadState *thread = PyEval_SaveThread();
    for (size_t k = 0; k < n * d; k++)
        if (!karma_table_cell(table, k / d, k % d, &cells[k])) cells[k] = NAN;
    PyEval_RestoreThread(thread);
    PyBuffer_Release(&view);
    return Py_NewRef(Py_None);
}

static PyObject *table_n_rows(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O", &capsule)) return NULL;
    const karma_table *table = py_table(capsule);
    return table ? PyLong_FromSize_t(karma_table_n_rows(table)) : NULL;
}

PyMethodDef py_table_methods[] = {
    {"table_from_array", table_from_array, METH_VARARGS, "table_from_array(array, names or None)"},
    {"table_from_csr", table_from_csr, METH_VARARGS, "table_from_csr(data, indices, indptr, n_columns, zero, names)"},
    {"table_from_columns", table_from_columns, METH_VARARGS, "table_from_columns(n_rows, columns)"},
    {"table_from_arrow", table_from_arrow, METH_VARARGS, "table_from_arrow(stream capsule)"},
    {"table_add_numbers", table_add_numbers, METH_VARARGS, "table_add_numbers(table, name, values)"},
    {"table_add_classes", table_add_classes, METH_VARARGS, "table_add_classes(table, name, texts)"},
    {"table_set_weights", table_set_weights, METH_VARARGS, "table_set_weights(table, weights)"},
    {"table_columns", table_columns, METH_VARARGS, "table_columns(table)"},
    {"table_cells", table_cells, METH_VARARGS, "table_cells(table, out)"},
    {"table_n_rows", table_n_rows, METH_VARARGS, "table_n_rows(table)"},
    {NULL, NULL, 0, NULL},
};
