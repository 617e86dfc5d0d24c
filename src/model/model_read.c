/* Models from files and buffers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model_format.h"

static karma_status read_model(karma_model **out, const char *name, karma_i_get_fn get, void *context,
                               karma_error *err) {
    karma_i_archive *archive = NULL;
    KARMA_TRY(karma_i_archive_open(&archive, name, get, context, err));
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    karma_status st = model ? karma_i_model_archive(archive, model) : karma_i_fail_memory(err);
    karma_i_archive_free(archive);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

static size_t get_from_stream(void *stream, void *bytes, size_t n) {
    return fread(bytes, 1, n, stream);
}

karma_status karma_model_load(karma_model **out, const char *path, karma_error *err) {
    karma_model *model = NULL;
    FILE *stream = fopen(path, "rbe");
    if (!stream) return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot open the model: %s", path, strerror(errno));
    errno = 0;
    karma_status st = read_model(&model, path, get_from_stream, stream, err);
    if (ferror(stream)) st = karma_i_fail(err, KARMA_ERR_IO, "%s: cannot read the model: %s", path, strerror(errno));
    (void)fclose(stream);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

typedef struct memory {
    const unsigned char *at;
    size_t left;
} memory;

static size_t get_from_memory(void *context, void *bytes, size_t n) {
    memory *from = context;
    size_t got = n < from->left ? n : from->left;
    if (got == 0) return 0; /* from->at may be NULL */
    memcpy(bytes, from->at, got);
    from->at += got;
    from->left -= got;
    return got;
}

karma_status karma_model_load_buffer(karma_model **out, const void *buffer, size_t size, karma_error *err) {
    memory from = {buffer, size};
    return read_model(out, "model buffer", get_from_memory, &from, err);
}
