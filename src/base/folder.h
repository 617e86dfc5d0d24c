/* Parts of file names. */
#ifndef KARMA_I_FOLDER_H
#define KARMA_I_FOLDER_H

/* The directory of a file, to be freed; NULL: out of memory. */
char *karma_i_directory_of(const char *path);
/* "folder/name", to be freed; NULL: out of memory. */
char *karma_i_joined_path(const char *folder, const char *name);

#endif
