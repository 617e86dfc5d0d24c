#include "table/storage.h"

#include "base/error.h"
#include "base/mem.h"

karma_status karma_i_storage_new(karma_i_storage **out, const char *folder, karma_error *err) {
    karma_i_storage *storage = karma_i_zalloc(1, sizeof *storage);
    if (storage) storage->folder = karma_i_strdup(folder);
    if (storage && storage->folder) {
        *out = storage;
        return KARMA_OK;
    }
    karma_i_free(storage);
    return karma_i_fail_memory(err);
}

void karma_i_storage_free(karma_i_storage *storage) {
    if (!storage) return;
    karma_i_mapped_clear(&storage->file);
    karma_i_mapped_clear(&storage->row_start);
    karma_i_mapped_clear(&storage->cell_owner);
    karma_i_mapped_clear(&storage->cell_value);
    karma_i_free(storage->folder);
    karma_i_free(storage);
}
