#include "base/folder.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

char *karma_i_directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? karma_i_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : karma_i_strdup(".");
}

char *karma_i_joined_path(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = karma_i_alloc(size, 1);
    if (path) (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}
