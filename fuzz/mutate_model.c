/* Mutations of model files that keep their form, so that checks of their contents are tested too: a number
 * of the header becomes another one, or items of the arrays do. Every fourth change is one of any bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

enum { PREFIX = 8 };

static const char *const NUMBERS[] = {"0",          "1",     "2",     "3",     "7",      "-1",     "255",
                                      "256",        "65535", "65536", "1e300", "-1e300", "5e-324", "2147483647",
                                      "4294967296", "0.5",   "null",  "true",  "1e17",   "[]",     "{}"};
static const double ITEMS[] = {0.0, 1.0, -1.0, 0.5, 1e300, -1e300, 5e-324, 1e-300, 65535.0, 3e38};

static size_t header_size(const uint8_t *bytes, size_t size) {
    uint64_t n = 0;
    for (size_t i = PREFIX; i-- > 0;) n = n << 8 | bytes[i];
    return n <= size - PREFIX ? (size_t)n : size - PREFIX;
}

static int is_numeral(uint8_t byte) {
    return byte != '\0' && strchr("0123456789+-.eE", byte) != NULL;
}

/* Changes a number of the header; the rest moves, and the spaces at the end of the header make up the difference. */
static void change_number(uint8_t *header, size_t length, unsigned random) {
    size_t at = random % length, end, room = length;
    while (at < length && !(is_numeral(header[at]) && header[at] != 'e' && header[at] != 'E')) at++;
    while (at > 0 && is_numeral(header[at - 1])) at--;
    for (end = at; end < length && is_numeral(header[end]);) end++;
    const char *number = NUMBERS[random / 7 % (sizeof NUMBERS / sizeof NUMBERS[0])];
    size_t digits = strlen(number);
    while (room > end && header[room - 1] == ' ') room--; /* the text without the spaces */
    if (at == end || room - (end - at) + digits > length) return;
    memmove(header + at + digits, header + end, room - end);
    memcpy(header + at, number, digits);
    room = room - (end - at) + digits;
    memset(header + room, ' ', length - room);
}

static void change_item(uint8_t *arrays, size_t length, unsigned random) {
    double wide = ITEMS[random / 11 % (sizeof ITEMS / sizeof ITEMS[0])];
    float narrow = (float)wide;
    uint64_t whole = random % 3 ? random % 9 : ~(uint64_t)0 >> random % 64;
    size_t width = random % 2 ? 8 : 4, at = random / 5 % length / width * width;
    if (at + width > length) return;
    if (random % 7 < 3)
        memcpy(arrays + at, &whole, width);
    else if (width == 8)
        memcpy(arrays + at, &wide, width);
    else
        memcpy(arrays + at, &narrow, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed) {
    unsigned random = seed * 2654435761U;
    if (size <= PREFIX || seed % 4 == 0) return LLVMFuzzerMutate(bytes, size, most);
    size_t header = header_size(bytes, size), arrays = size - PREFIX - header;
    if (header && (arrays == 0 || seed % 4 == 1))
        change_number(bytes + PREFIX, header, random);
    else if (arrays)
        change_item(bytes + PREFIX + header, arrays, random);
    return size;
}
