/* The account of the search in a model (karma/search.h): memory, and its part in model files. */
#ifndef KARMA_I_SEARCH_INFO_H
#define KARMA_I_SEARCH_INFO_H

#include "base/archive.h"
#include "karma/search.h"

/* Takes NULL, and structs whose arrays are not all there yet. */
void karma_i_search_info_free(karma_search_info *info);

/* The object "search" of a model file, where there is one; reading makes a new struct. */
karma_status karma_i_search_info_archive(karma_i_archive *archive, karma_search_info **search);

#endif
