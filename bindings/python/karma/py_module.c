/* The extension module karma._karma. */
#include "py_common.h"

static int add_methods(PyObject *module) {
    if (PyModule_AddFunctions(module, py_table_methods) != 0) return -1;
    if (PyModule_AddFunctions(module, py_model_methods) != 0) return -1;
    if (PyModule_AddFunctions(module, py_info_methods) != 0) return -1;
    if (PyModule_AddFunctions(module, py_certainty_methods) != 0) return -1;
    return PyModule_AddFunctions(module, py_report_methods);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_methods}, {0, NULL}};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_karma",
    .m_doc = "The functions of libkarma that the estimators call.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__karma(void);

PyMODINIT_FUNC PyInit__karma(void) {
    return PyModuleDef_Init(&definition);
}
