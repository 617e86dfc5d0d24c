/* A table in an archive that is mapped: its cells stay in the file. */
#ifndef KARMA_I_TABLE_ARCHIVE_H
#define KARMA_I_TABLE_ARCHIVE_H

#include "base/archive.h"
#include "table/table.h"

/* Describes a table that is to be written, and lends its arrays. It has no kernel values, and all its cells could be
 * read. */
karma_status karma_i_table_archive(karma_i_archive *archive, const karma_table *table);
/* The table that an archive describes, which is not trusted. Its cells are lent by the archive: the caller puts the
 * mapped file into its storage. `folder`: where rows that are selected from it lie. */
karma_status karma_i_table_restore(karma_table **out, karma_i_archive *archive, const char *folder, karma_error *err);

#endif
