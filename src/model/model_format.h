/* The contents of a model file: the list of its parts. Each module describes its own fields and arrays
 * (base/archive.h); docs/model-format.md specifies all of them. */
#ifndef KARMA_I_MODEL_FORMAT_H
#define KARMA_I_MODEL_FORMAT_H

#include "base/archive.h"
#include "model/model.h"

/* Writes the model, or reads it into a zeroed one, which is the caller's to free also when this fails. */
karma_status karma_i_model_archive(karma_i_archive *archive, karma_model *model);

#endif
