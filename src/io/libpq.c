#include "io/libpq.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

#ifdef __APPLE__
static const char FILE_NAME[] = "libpq.5.dylib";
#else
static const char FILE_NAME[] = "libpq.so.5";
#endif

karma_status karma_i_libpq_load(karma_i_libpq *out, const char *user, karma_error *err) {
    void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL), *function;
    if (!library)
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot load PostgreSQL's library %s; install it", user, FILE_NAME);
#define LOAD(name)                                                                                                     \
    function = dlsym(library, #name);                                                                                  \
    if (!function)                                                                                                     \
        return karma_i_fail(err, KARMA_ERR_IO, "%s: PostgreSQL's library %s has no function %s", user, FILE_NAME,      \
                            #name);                                                                                    \
    memcpy(&out->name, &function, sizeof function); /* C has no conversion from objects to functions */
    KARMA_I_LIBPQ_LIST(LOAD)
#undef LOAD
    return KARMA_OK;
}
