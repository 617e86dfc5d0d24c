/* Errors, texts, buffers, capsules and options: between Python's objects and the library's arguments. */
#include "py_common.h"

#include <string.h>

PyObject *py_fail(const karma_error *err) {
    PyObject *type = PyExc_ValueError;
    if (err->status == KARMA_ERR_MEMORY) type = PyExc_MemoryError;
    if (err->status == KARMA_ERR_IO) type = PyExc_OSError;
    if (err->status == KARMA_ERR_CANCELLED) type = PyExc_KeyboardInterrupt;
    PyErr_SetString(type, err->message);
    return NULL;
}

const char *py_text(PyObject *object) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text && strlen(text) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "the text %R has a zero byte", object);
        return NULL;
    }
    return text;
}

int py_texts_open(py_texts *texts, PyObject *sequence, int optional) {
    *texts = (py_texts){PySequence_List(sequence), NULL, 0};
    if (!texts->list) return -1;
    texts->count = (size_t)PyList_Size(texts->list);
    texts->items = PyMem_Malloc((texts->count + 1) * sizeof *texts->items);
    if (!texts->items) PyErr_NoMemory();
    for (size_t i = 0; texts->items && i < texts->count; i++) {
        PyObject *item = PyList_GetItem(texts->list, (Py_ssize_t)i);
        texts->items[i] = NULL;
        if (optional && item == Py_None) continue;
        texts->items[i] = py_text(item);
        if (!texts->items[i]) {
            py_texts_close(texts);
            return -1;
        }
    }
    if (texts->items) return 0;
    py_texts_close(texts);
    return -1;
}

void py_texts_close(py_texts *texts) {
    PyMem_Free((void *)texts->items);
    Py_CLEAR(texts->list);
    texts->items = NULL;
}

/* The last character of a format such as "d" or "<d"; 0: it is not one native number. */
static char format_letter(const char *format) {
    if (!format) return 'B';
    if (*format == '@' || *format == '=' || *format == '<') format++;
    return format[0] && !format[1] ? format[0] : 0;
}

static int find_type(karma_number_type *type, const Py_buffer *view) {
    static const karma_number_type signed_types[] = {KARMA_INT8, KARMA_INT16, KARMA_INT32, KARMA_INT64};
    static const karma_number_type unsigned_types[] = {KARMA_UINT8, KARMA_UINT16, KARMA_UINT32, KARMA_UINT64};
    char letter = format_letter(view->format);
    int size = view->itemsize == 1 ? 0 : view->itemsize == 2 ? 1 : view->itemsize == 4 ? 2 : 3;
    if (letter == 'd')
        *type = KARMA_FLOAT64;
    else if (letter == 'f')
        *type = KARMA_FLOAT32;
    else if (letter && strchr("bhilq", letter))
        *type = signed_types[size];
    else if (letter && strchr("?BHILQ", letter))
        *type = unsigned_types[size];
    else
        return 0;
    return 1;
}

int py_array_open(py_array *array, PyObject *object, int n_dimensions) {
    if (PyObject_GetBuffer(object, &array->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return -1;
    if (array->view.ndim != n_dimensions)
        PyErr_Format(PyExc_ValueError, "an array of %d dimensions, not %d", array->view.ndim, n_dimensions);
    else if (!find_type(&array->type, &array->view))
        PyErr_Format(PyExc_TypeError, "an array of type '%s'", array->view.format ? array->view.format : "");
    else
        return 0;
    PyBuffer_Release(&array->view);
    return -1;
}

int py_block_open(Py_buffer *view, PyObject *object, char type, size_t count, int writable) {
    karma_number_type wanted = type == 'd'   ? KARMA_FLOAT64
                               : type == 'f' ? KARMA_FLOAT32
                               : type == 'i' ? KARMA_INT32
                                             : KARMA_INT64;
    karma_number_type found;
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) != 0)
        return -1;
    if (find_type(&found, view) && found == wanted && (size_t)(view->len / view->itemsize) == count) return 0;
    PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes of type '%s', where %zu elements of '%c' are needed",
                 view->len, view->format ? view->format : "", count, type);
    PyBuffer_Release(view);
    return -1;
}

static void free_table(PyObject *capsule) {
    karma_table_free(PyCapsule_GetPointer(capsule, "karma.table"));
}

static void free_model(PyObject *capsule) {
    karma_model_free(PyCapsule_GetPointer(capsule, "karma.model"));
}

PyObject *py_table_capsule(karma_table *table) {
    PyObject *capsule = PyCapsule_New(table, "karma.table", free_table);
    if (!capsule) karma_table_free(table);
    return capsule;
}

karma_table *py_table(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, "karma.table");
}

PyObject *py_model_capsule(karma_model *model) {
    PyObject *capsule = PyCapsule_New(model, "karma.model", free_model);
    if (!capsule) karma_model_free(model);
    return capsule;
}

karma_model *py_model(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, "karma.model");
}

static int set_option(const karma_option_table *table, void *options, PyObject *pair) {
    const char *name, *text;
    karma_error err;
    if (!PyArg_ParseTuple(pair, "ss", &name, &text)) return -1;
    const karma_option *option = karma_option_find(table, name);
    if (!option) {
        PyErr_Format(PyExc_ValueError, "there is no option '%s'", name);
        return -1;
    }
    if (karma_option_set(option, options, text, &err) == KARMA_OK) return 0;
    py_fail(&err);
    return -1;
}

int py_options_fill(const karma_option_table *table, void *options, size_t size, PyObject *pairs) {
    karma_error err;
    Py_ssize_t n = PySequence_Size(pairs);
    int failed = n < 0;
    karma_options_init_size(table, options, size);
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        PyObject *pair = PySequence_GetItem(pairs, i);
        failed = !pair || set_option(table, options, pair) != 0;
        Py_XDECREF(pair);
    }
    if (!failed && karma_options_check(table, options, &err) != KARMA_OK) {
        py_fail(&err);
        failed = 1;
    }
    if (!failed) return 0;
    karma_options_clear(table, options);
    return -1;
}

int py_put(PyObject *dict, const char *key, PyObject *value) {
    if (!value) return -1;
    int status = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return status;
}

int py_add(PyObject *list, PyObject *value) {
    if (!value) return -1;
    int status = PyList_Append(list, value);
    Py_DECREF(value);
    return status;
}

PyObject *py_floats(const double *values, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (py_add(list, PyFloat_FromDouble(values[i])) != 0) Py_CLEAR(list);
    return list;
}
