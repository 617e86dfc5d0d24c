#include "io/libpq.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

#ifdef __APPLE__
static const char FILE_NAME[] = "libpq.5.dylib";
#else
static const char FILE_NAME[] = "libpq.so.5";
#endif

#define ENTRY(name) {#name, offsetof(karma_i_libpq, name)},
static const struct {
    const char *name;
    size_t offset;
} functions[] = {KARMA_I_LIBPQ_LIST(ENTRY)};
#undef ENTRY

karma_status karma_i_libpq_load(karma_i_libpq *out, const char *user, karma_error *err) {
    void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot load PostgreSQL's library %s; install it", user, FILE_NAME);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        void *function = dlsym(library, functions[k].name);
        if (!function)
            return karma_i_fail(err, KARMA_ERR_IO, "%s: PostgreSQL's library %s has no function %s", user, FILE_NAME,
                                functions[k].name);
        /* C has no conversion from objects to functions */
        memcpy((char *)out + functions[k].offset, &function, sizeof function);
    }
    return KARMA_OK;
}
