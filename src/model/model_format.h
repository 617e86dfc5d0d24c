/* Model files: safetensors, that is
 *
 *   8 bytes   n, little endian
 *   n bytes   a JSON object: for every array its dtype, shape and data_offsets; under "__metadata__" texts
 *   the rest  the arrays
 *
 * What is not an array is one JSON document in the metadata text "karma". The metadata text "checksum" is the
 * CRC-32 of the whole file with the checksum's own eight digits taken as '0', so that any altered byte is found.
 * docs/model-format.md specifies all fields. This is what writing (model_write.c) and reading (model_read.c) share. */
#ifndef KARMA_I_MODEL_FORMAT_H
#define KARMA_I_MODEL_FORMAT_H

#include "model/model.h"

enum { KARMA_I_FORMAT_VERSION = 1, KARMA_I_CHECKSUM_DIGITS = 8 };
#define KARMA_I_CHECKSUM_KEY "\"checksum\":\""

/* The CRC-32 of what `crc` stands for followed by these bytes; start with 0. */
uint32_t karma_i_checksum(uint32_t crc, const void *data, size_t length);

/* The arrays of one encoding, in order. Dense rows have codes, mask, ranks and values; sparse ones the three cell
 * arrays; rows of a precomputed kernel their columns. Those of the other kinds are there with no elements. */
typedef enum karma_i_tensor_id {
    KARMA_I_TENSOR_CELL_ATTRIBUTE,
    KARMA_I_TENSOR_CELL_START,
    KARMA_I_TENSOR_CELL_VALUE,
    KARMA_I_TENSOR_CODES,
    KARMA_I_TENSOR_FACTOR,
    KARMA_I_TENSOR_FEATURE_START,
    KARMA_I_TENSOR_MASK,
    KARMA_I_TENSOR_MATRIX_COLUMN,
    KARMA_I_TENSOR_RANKING_AT,
    KARMA_I_TENSOR_RANKING_BEYOND,
    KARMA_I_TENSOR_RANKING_VALUE,
    KARMA_I_TENSOR_RANKS,
    KARMA_I_TENSOR_SHIFT,
    KARMA_I_TENSOR_SUBSPACE_BASIS,
    KARMA_I_TENSOR_SUBSPACE_MEAN,
    KARMA_I_TENSOR_SUBSPACE_W,
    KARMA_I_TENSOR_TERM,
    KARMA_I_TENSOR_VALUES,
    KARMA_I_N_TENSORS
} karma_i_tensor_id;

typedef struct karma_i_tensor {
    char name[32]; /* of the first encoding plain, of the others with a point and their number: "values.1" */
    const char *dtype;
    size_t item_size;
    size_t shape[2];
    int n_dims;
    void *data;    /* to write from, or to read into */
    size_t offset; /* in the data section */
} karma_i_tensor;

size_t karma_i_tensor_bytes(const karma_i_tensor *tensor);

/* The rankings of all attributes one after the other, as they stand in a file. */
typedef struct karma_i_flat_rankings {
    size_t n;
    double *value;
    uint8_t *at, *beyond;
} karma_i_flat_rankings;

void karma_i_flat_from(karma_i_flat_rankings *flat, const karma_i_recipe *recipe);
void karma_i_flat_to(karma_i_recipe *recipe, const karma_i_flat_rankings *flat);

/* All arrays of a file: the coefficients of each member, then KARMA_I_N_TENSORS for each encoding. */
typedef struct karma_i_tensor_list {
    size_t n, n_members, n_encodings;
    karma_i_tensor *tensors;
    karma_i_flat_rankings *flat; /* one an encoding */
} karma_i_tensor_list;

/* For a model whose recipes, heads, support rows and coefficients have their sizes and memory. The rankings have room,
 * and nothing in it yet. To be cleared also when it fails. */
karma_status karma_i_tensors_describe(karma_i_tensor_list *list, const karma_model *model, karma_error *err);
void karma_i_tensors_clear(karma_i_tensor_list *list);
/* The tensors of one encoding, by karma_i_tensor_id. */
karma_i_tensor *karma_i_tensors_of(const karma_i_tensor_list *list, size_t encoding);

/* The numbers of karma_fit_info, by name. */
typedef struct karma_i_info_field {
    const char *name; /* NULL ends the list */
    size_t offset;
    int is_size; /* a size_t, otherwise a double */
} karma_i_info_field;
extern const karma_i_info_field karma_i_info_fields[];

#endif
