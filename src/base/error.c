/* Status names, failure messages and the hooks. */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "version.h"

const char *karma_version(void) {
    return KARMA_VERSION;
}

int karma_version_number(void) {
    return KARMA_VERSION_NUMBER;
}

const char *karma_status_name(karma_status status) {
    switch (status) {
    case KARMA_OK:
        return "ok";
    case KARMA_ERR_MEMORY:
        return "memory";
    case KARMA_ERR_IO:
        return "io";
    case KARMA_ERR_FORMAT:
        return "format";
    case KARMA_ERR_DATA:
        return "data";
    case KARMA_ERR_OPTION:
        return "option";
    case KARMA_ERR_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* A message is a single line, whatever text it quotes. */
static void flatten(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
}

/* word://user:password@place becomes word://user@place. A name in a sentence ends at ": ". To be safe, too
 * much is removed rather than too little: from the first : to the last @, also if the text was cut before an
 * @. */
void karma_i_hide_passwords(char *text, size_t size) {
    int is_cut = strlen(text) + 1 >= size;
    for (char *start = text; (start = strstr(start, "://")) != NULL;) {
        start += 3;
        char *end = strstr(start, ": "), *at = NULL, *colon = strchr(start, ':');
        if (!end) end = start + strlen(start);
        for (char *c = start; c < end; c++)
            if (*c == '@') at = c;
        if (at && colon && colon < at)
            memmove(colon, at, strlen(at) + 1);
        else if (is_cut && !*end && !at && colon)
            *colon = '\0';
    }
}

void karma_i_describe_failure(karma_error *err, karma_status status, const char *format, ...) {
    if (!err) return;
    va_list args;
    va_start(args, format);
    err->status = status;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    flatten(err->message);
    karma_i_hide_passwords(err->message, sizeof err->message);
}

void karma_i_notice(const karma_hooks *hooks, const char *format, ...) {
    if (!hooks || !hooks->notice) return;
    char sentence[480];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    flatten(sentence);
    karma_i_hide_passwords(sentence, sizeof sentence);
    hooks->notice(hooks->payload, sentence);
}

int karma_i_progress_or_enough(const karma_hooks *hooks, const char *stage, size_t done, size_t total) {
    return hooks && hooks->progress ? hooks->progress(hooks->payload, stage, done, total) : 0;
}

int karma_i_progress(const karma_hooks *hooks, const char *stage, size_t done, size_t total) {
    int asked = karma_i_progress_or_enough(hooks, stage, done, total);
    return asked == KARMA_I_ENOUGH ? 0 : asked;
}

void karma_i_list_names(char *text, size_t size, const char *const *names, size_t n) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n && i < 3 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "", names[i]);
    if (n > 3 && used < size) (void)snprintf(text + used, size - used, " and %zu more", n - 3);
}
