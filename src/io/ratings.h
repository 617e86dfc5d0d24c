/* Ratings, one "user, item, rating" a line, and a file of users to a table. */
#ifndef KARMA_I_RATINGS_H
#define KARMA_I_RATINGS_H

#include "io/reader.h"

karma_status karma_i_ratings_read(karma_table **out, const karma_i_read_request *request, karma_error *err);

#endif
