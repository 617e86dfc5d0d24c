/* How rows are stored. Only tests need to know. */
#ifndef KARMA_TEST_REPRESENTATION_H
#define KARMA_TEST_REPRESENTATION_H

#include <string.h>

#include "table/rows.h"

static inline int rows_are_sparse(const karma_i_rows *rows) {
    return strcmp(rows->ops->name, "sparse") == 0;
}

#endif
