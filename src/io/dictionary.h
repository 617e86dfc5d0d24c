/* Distinct texts and their numbers: 0, 1, ... in order of appearance, or by rank once sorted. Open addressing
 * over copies of the texts; adding and finding cost the length of the text. */
#ifndef KARMA_I_DICTIONARY_H
#define KARMA_I_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "karma/base.h"

typedef struct karma_i_dictionary_entry {
    const char *text; /* ends in '\0' */
    size_t length;
    uint64_t hash;
    uint32_t number; /* as it came */
} karma_i_dictionary_entry;

/* All zero is an empty dictionary. */
typedef struct karma_i_dictionary {
    karma_i_dictionary_entry *entries;
    size_t count, capacity;
    uint32_t *slots;              /* number of the entry + 1; 0: free */
    size_t n_slots;               /* 0 or a power of two above 4/3 count */
    struct karma_i_block *blocks; /* where the copies live */
} karma_i_dictionary;

void karma_i_dictionary_clear(karma_i_dictionary *dictionary);
/* *out, if not NULL, becomes the text's number, old or new. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_dictionary_add(size_t *out, karma_i_dictionary *dictionary, const char *text, size_t length,
                                    karma_error *err);
/* True and *out if the text is there. */
int karma_i_dictionary_find(size_t *out, const karma_i_dictionary *dictionary, const char *text, size_t length);
/* Renumbers the texts in ascending byte order. ranks[old number], if not NULL, becomes the new one. */
void karma_i_dictionary_sort(karma_i_dictionary *dictionary, uint32_t *ranks);
/* The text most similar to `word`, for a message; NULL if none is similar. */
const char *karma_i_dictionary_nearest(const karma_i_dictionary *dictionary, const char *word);
/* Copies of the texts by number, each to be freed and the array too; *out is NULL if there are none. */
karma_status karma_i_dictionary_texts(char ***out, const karma_i_dictionary *dictionary, karma_error *err);

#endif
