/* Models into files and buffers. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model_format.h"

/* A closed archive of `size` bytes. */
static karma_status archive_model(karma_i_archive **out, size_t *size, const karma_model *model, const char *name,
                                  karma_error *err) {
    karma_i_archive *archive = NULL;
    KARMA_TRY(karma_i_archive_new(&archive, name, err));
    karma_status st = karma_i_model_archive(archive, (karma_model *)model); /* writing changes nothing */
    if (st == KARMA_OK) st = karma_i_archive_close(archive, size);
    if (st == KARMA_OK)
        *out = archive;
    else
        karma_i_archive_free(archive);
    return st;
}

karma_status karma_model_save(const karma_model *model, const char *path, karma_error *err) {
    karma_i_archive *archive = NULL;
    size_t size;
    KARMA_TRY(archive_model(&archive, &size, model, path, err));
    karma_status st = karma_i_archive_save(archive, path, err);
    karma_i_archive_free(archive);
    return st;
}

static void put_to_memory(void *place, const void *bytes, size_t n) {
    unsigned char **at = place;
    memcpy(*at, bytes, n);
    *at += n;
}

karma_status karma_model_save_buffer(void **out, size_t *size, const karma_model *model, karma_error *err) {
    karma_i_archive *archive = NULL;
    size_t n;
    KARMA_TRY(archive_model(&archive, &n, model, "model buffer", err));
    unsigned char *bytes = karma_i_alloc(n, 1), *at = bytes;
    if (bytes) karma_i_archive_emit(archive, put_to_memory, &at);
    karma_i_archive_free(archive);
    if (!bytes) return karma_i_fail_memory(err);
    *out = bytes;
    *size = n;
    return KARMA_OK;
}

void karma_buffer_free(void *buffer) {
    karma_i_free(buffer);
}
