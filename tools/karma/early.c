/* What must happen before the shared libraries start: their constructors read the environment once, before main.
 *
 * OpenMP. By default a thread that waits for another one spins. On a machine that others use too, the thread it waits
 * for is often not running, and the one that spins takes the processor from it: two threads took many times the time of
 * one. Threads of the tool sleep instead (OMP_WAIT_POLICY=passive), unless the user has chosen otherwise.
 *
 * OpenBLAS. Its constructor maps a buffer of 128 MB for every thread, and tries forever if it cannot have one. Under a
 * limit on address space or data it gets one (OMP_NUM_THREADS=1; the tool's own threads are those of --threads), and if
 * not even one buffer fits, the tool ends with a sentence.
 *
 * The linker's .preinit_array runs before all constructors, but the C library takes the environment from the stack
 * afterwards, so a changed one needs execve. Systems without .preinit_array or /proc keep the libraries' defaults. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tool.h"

#ifdef __ELF__

/* The runtime of a sanitizer has not started here either. */
#define BEFORE_EVERYTHING __attribute__((no_sanitize("address", "undefined", "thread")))

enum { START_BYTES = (128 + 8) << 20 }; /* OpenBLAS's buffer, and what else the libraries map when they start */
enum { LONGEST_PATH = 4096, MOST_ADDED = 2 };

/* Whether two settings NAME=VALUE have the same name, and whether they are equal. */
BEFORE_EVERYTHING static int is_same_name(const char *a, const char *b) {
    while (*a && *a == *b && *a != '=') {
        a++;
        b++;
    }
    return *a == '=' && *b == '=';
}

BEFORE_EVERYTHING static int is_same(const char *a, const char *b) {
    while (a && *a && *a == *b) {
        a++;
        b++;
    }
    return a && *a == *b;
}

/* The setting with the name of another one; NULL: there is none. */
BEFORE_EVERYTHING static const char *find(char **environment, const char *setting) {
    for (; *environment; environment++)
        if (is_same_name(*environment, setting)) return *environment;
    return NULL;
}

BEFORE_EVERYTHING static int is_room_to_start(void) {
    void *room = mmap(NULL, START_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return 0;
    (void)munmap(room, START_BYTES);
    return 1;
}

BEFORE_EVERYTHING static int is_limited(int resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* This program again, with other settings. Returns if that is not possible: it works without them too. */
BEFORE_EVERYTHING static void start_again(char **argv, char **environment, char **added, size_t n_added) {
    static char path[LONGEST_PATH]; /* by its own name: that of /proc/self/exe would be shown by ps */
    size_t n = 0;
    while (environment[n]) n++;
    char **larger = malloc((n + n_added + 1) * sizeof *larger);
    if (larger && readlink("/proc/self/exe", path, sizeof path - 1) > 0) {
        size_t used = n_added;
        added[n_added] = NULL;
        for (size_t i = 0; i < n_added; i++) larger[i] = added[i];
        for (size_t i = 0; i < n; i++)
            if (!find(added, environment[i])) larger[used++] = environment[i];
        larger[used] = NULL;
        (void)execve(path, argv, larger);
    }
    free(larger);
}

BEFORE_EVERYTHING static void prepare(int argc, char **argv, char **environment) {
    static char sleep[] = "OMP_WAIT_POLICY=passive", one_thread[] = "OMP_NUM_THREADS=1";
    static const char too_small[] = "karma: the limit on address space (ulimit -v) or data (-d) is too small to start; "
                                    "300 MB are enough for small tables\n";
    char *added[MOST_ADDED + 1];
    size_t n_added = 0;
    (void)argc;
    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) {
        if (!is_room_to_start()) {
            ssize_t ignored = write(STDERR_FILENO, too_small, sizeof too_small - 1);
            (void)ignored;
            _exit(EXIT_FAILED);
        }
        if (!is_same(find(environment, one_thread), one_thread)) added[n_added++] = one_thread;
    }
    if (!find(environment, sleep) && !find(environment, "GOMP_SPINCOUNT=")) added[n_added++] = sleep;
    if (n_added > 0) start_again(argv, environment, added, n_added);
}

__attribute__((section(".preinit_array"), used)) static void (*const before_constructors)(int, char **,
                                                                                          char **) = prepare;

#endif
