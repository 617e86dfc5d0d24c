/* Status codes, errors, hooks and output files that are written whole or not at all: what every other header needs. */
#ifndef KARMA_BASE_H
#define KARMA_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define KARMA_API                 __attribute__((visibility("default")))
#define KARMA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define KARMA_API
#define KARMA_PRINTF(text, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong. How a solver ended (converged, out of passes, cancelled) is not an error: see
 * karma_fit_info.stop. */
typedef enum karma_status {
    KARMA_OK = 0,
    KARMA_ERR_MEMORY,   /* an allocation failed, or a size does not fit in memory */
    KARMA_ERR_IO,       /* the operating system refused to open, read, write or rename */
    KARMA_ERR_FORMAT,   /* a file violates its format */
    KARMA_ERR_DATA,     /* the table is well formed but cannot be used for this purpose */
    KARMA_ERR_OPTION,   /* an option is unknown or out of its range */
    KARMA_ERR_CANCELLED /* the progress callback asked to stop and there is nothing to keep */
} karma_status;

/* Filled by the function that failed; owned by the caller, who may pass NULL instead. */
typedef struct karma_error {
    karma_status status;
    char message[480];
} karma_error;

/* Called from time to time during long work. A non-zero return value asks the work to stop early. `done` of `total`
 * counts the units that `stage` names; where no total is known it is 0 and `stage` is the whole message ("gap 0.03,
 * goal 0.001"). Always called from the caller's thread. */
typedef int (*karma_progress_fn)(void *payload, const char *stage, size_t done, size_t total);

/* Called with one sentence that the user should know but that is not an error ("3 rows have no label"). */
typedef void (*karma_notice_fn)(void *payload, const char *sentence);

/* Both may be NULL, and so may a pointer to the whole struct. */
typedef struct karma_hooks {
    karma_progress_fn progress;
    karma_notice_fn notice;
    void *payload;
} karma_hooks;

/* The version of these headers, as text and as one number: major * 1000000 + minor * 1000 + patch. */
#define KARMA_VERSION_MAJOR  0
#define KARMA_VERSION_MINOR  1
#define KARMA_VERSION_PATCH  0
#define KARMA_VERSION_NUMBER (KARMA_VERSION_MAJOR * 1000000 + KARMA_VERSION_MINOR * 1000 + KARMA_VERSION_PATCH)

/* The version of the library that is running: "MAJOR.MINOR.PATCH", and as one number. Constant, any thread. */
KARMA_API const char *karma_version(void);
KARMA_API int karma_version_number(void);

/* A short lower-case name such as "format". */
KARMA_API const char *karma_status_name(karma_status status);

/* An output file that appears under its name only when it is complete: it is written next to the target,
 * synced and renamed by karma_output_commit. `path` NULL or "-" is standard output; devices and pipes are
 * written in place. Errors: KARMA_ERR_IO if the file cannot be created, KARMA_ERR_MEMORY. Cost: one system call.
 * Threads: safe. */
typedef struct karma_output karma_output;
KARMA_API karma_status karma_output_open(karma_output **out, const char *path, karma_error *err);
KARMA_API FILE *karma_output_stream(karma_output *output);
/* Both free the object, whatever they return. Discard leaves no file behind and accepts NULL. Errors: KARMA_ERR_IO if
 * anything was not written; the target is then unchanged. Cost: that of writing the buffered bytes. Threads: one at a
 * time per object. */
KARMA_API karma_status karma_output_commit(karma_output *output, karma_error *err);
/* Commits two files at once: neither appears unless both are complete on the disk. Always frees both. Errors:
 * KARMA_ERR_IO if anything was not written; both targets are then unchanged, as far as the system allows. Cost: that of
 * writing the buffered bytes. Threads: one at a time per object. */
KARMA_API karma_status karma_output_commit_two(karma_output *first, karma_output *second, karma_error *err);
KARMA_API void karma_output_discard(karma_output *output);

/* Writes `value` with the fewest digits that read back as the same number ("0.1", "1e-07", "nan"), whatever
 * the locale. `text` holds at least KARMA_NUMBER_SIZE characters; returns `text`. */
enum { KARMA_NUMBER_SIZE = 32 };
KARMA_API char *karma_number_text(char *text, double value);

/* The candidate that is most similar to `word`, or NULL if none is close: about one error (a letter wrong, missing or
 * added, or two swapped) per three letters is allowed, and the case of ASCII letters is ignored. Of equally close
 * candidates the first. Words longer than 63 bytes match nothing. */
KARMA_API const char *karma_nearest_word(const char *word, const char *const *candidates, size_t n);

#ifdef __cplusplus
}
#endif
#endif
