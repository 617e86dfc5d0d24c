#include "io/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Copies are stored in blocks that never move, so that entries may point to them. */
typedef struct karma_i_block {
    struct karma_i_block *next;
    size_t used, size;
    char bytes[];
} block;

enum { FIRST_BLOCK = 256, LARGEST_BLOCK = 1 << 16, FIRST_SLOTS = 16 };

/* Eight bytes at a time; the last multiplication and shift spread every bit over the low ones, which choose
 * the slot. */
static uint64_t hash_of(const char *text, size_t length) {
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ length, word = 0;
    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, length);
    h = (h ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    h ^= h >> 29;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

void karma_i_dictionary_clear(karma_i_dictionary *dictionary) {
    for (block *b = dictionary->blocks; b;) {
        block *next = b->next;
        karma_i_free(b);
        b = next;
    }
    karma_i_free(dictionary->entries);
    karma_i_free(dictionary->slots);
    *dictionary = (karma_i_dictionary){0};
}

static const char *keep_text(karma_i_dictionary *dictionary, const char *text, size_t length) {
    block *b = dictionary->blocks;
    if (!b || b->size - b->used <= length) {
        size_t size = b ? b->size * 2 : FIRST_BLOCK;
        if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
        if (size <= length) size = length + 1;
        if (size > PTRDIFF_MAX - sizeof *b) return NULL;
        b = karma_i_alloc(sizeof *b + size, 1);
        if (!b) return NULL;
        b->next = dictionary->blocks;
        b->used = 0;
        b->size = size;
        dictionary->blocks = b;
    }
    char *copy = b->bytes + b->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    b->used += length + 1;
    return copy;
}

/* The slot that holds the text or would hold it. There is always a free one. */
static size_t slot_of(const karma_i_dictionary *d, const char *text, size_t length, uint64_t hash) {
    size_t mask = d->n_slots - 1, slot = (size_t)hash & mask;
    for (; d->slots[slot]; slot = (slot + 1) & mask) {
        const karma_i_dictionary_entry *e = &d->entries[d->slots[slot] - 1];
        if (e->hash == hash && e->length == length && memcmp(e->text, text, length) == 0) break;
    }
    return slot;
}

static void fill_slots(karma_i_dictionary *d) {
    memset(d->slots, 0, d->n_slots * sizeof *d->slots);
    for (size_t i = 0; i < d->count; i++) {
        size_t slot = (size_t)d->entries[i].hash & (d->n_slots - 1);
        while (d->slots[slot]) slot = (slot + 1) & (d->n_slots - 1);
        d->slots[slot] = (uint32_t)(i + 1);
    }
}

/* Room for one more text: an entry, and slots that stay at most three quarters full. */
static int make_room(karma_i_dictionary *d) {
    if (d->count >= UINT32_MAX - 1) return 0;
    void *entries = d->entries;
    if (!karma_i_reserve(&entries, &d->capacity, d->count + 1, sizeof *d->entries)) return 0;
    d->entries = entries;
    if (d->n_slots && d->count + 1 <= d->n_slots / 4 * 3) return 1;
    size_t n_slots = d->n_slots ? d->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = karma_i_alloc(n_slots, sizeof *slots);
    if (!slots) return 0;
    karma_i_free(d->slots);
    d->slots = slots;
    d->n_slots = n_slots;
    fill_slots(d);
    return 1;
}

karma_status karma_i_dictionary_add(size_t *out, karma_i_dictionary *dictionary, const char *text, size_t length,
                                    karma_error *err) {
    uint64_t hash = hash_of(text, length);
    size_t slot = dictionary->n_slots ? slot_of(dictionary, text, length, hash) : 0;
    if (dictionary->n_slots && dictionary->slots[slot]) {
        if (out) *out = dictionary->slots[slot] - 1;
        return KARMA_OK;
    }
    if (!make_room(dictionary)) return karma_i_fail_memory(err);
    const char *copy = keep_text(dictionary, text, length);
    if (!copy) return karma_i_fail_memory(err);
    slot = slot_of(dictionary, text, length, hash); /* the slots may be new */
    dictionary->entries[dictionary->count] =
        (karma_i_dictionary_entry){copy, length, hash, (uint32_t)dictionary->count};
    dictionary->count++;
    dictionary->slots[slot] = (uint32_t)dictionary->count;
    if (out) *out = dictionary->count - 1;
    return KARMA_OK;
}

int karma_i_dictionary_find(size_t *out, const karma_i_dictionary *dictionary, const char *text, size_t length) {
    if (dictionary->n_slots == 0) return 0;
    uint32_t held = dictionary->slots[slot_of(dictionary, text, length, hash_of(text, length))];
    if (held) *out = held - 1;
    return held != 0;
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const karma_i_dictionary_entry *)a)->text, ((const karma_i_dictionary_entry *)b)->text);
}

void karma_i_dictionary_sort(karma_i_dictionary *dictionary, uint32_t *ranks) {
    if (dictionary->count > 1)
        qsort(dictionary->entries, dictionary->count, sizeof *dictionary->entries, compare_entries);
    for (size_t i = 0; i < dictionary->count; i++) {
        if (ranks) ranks[dictionary->entries[i].number] = (uint32_t)i;
        dictionary->entries[i].number = (uint32_t)i;
    }
    if (dictionary->count > 1) fill_slots(dictionary);
}

const char *karma_i_dictionary_nearest(const karma_i_dictionary *dictionary, const char *word) {
    const char **texts = karma_i_alloc(dictionary->count, sizeof *texts);
    if (!texts) return NULL; /* then the message has no suggestion */
    for (size_t i = 0; i < dictionary->count; i++) texts[i] = dictionary->entries[i].text;
    const char *nearest = karma_nearest_word(word, texts, dictionary->count);
    karma_i_free(texts);
    return nearest;
}

karma_status karma_i_dictionary_texts(char ***out, const karma_i_dictionary *dictionary, karma_error *err) {
    char **texts = NULL;
    if (dictionary->count) {
        texts = karma_i_alloc(dictionary->count, sizeof *texts);
        if (!texts) return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < dictionary->count; i++) {
        texts[i] = karma_i_strndup(dictionary->entries[i].text, dictionary->entries[i].length);
        if (texts[i]) continue;
        while (i > 0) karma_i_free(texts[--i]);
        karma_i_free(texts);
        return karma_i_fail_memory(err);
    }
    *out = texts;
    return KARMA_OK;
}
