/* Where the cells of a table lie if they are not in memory: in files that are mapped. */
#ifndef KARMA_I_STORAGE_H
#define KARMA_I_STORAGE_H

#include "base/mapped.h"

typedef struct karma_i_storage {
    char *folder;        /* rows that are selected from the table lie here as well */
    karma_i_mapped file; /* of a cache, which has all arrays; or one file for each: */
    karma_i_mapped row_start, cell_owner, cell_value;
} karma_i_storage;

karma_status karma_i_storage_new(karma_i_storage **out, const char *folder, karma_error *err);
void karma_i_storage_free(karma_i_storage *storage);

#endif
