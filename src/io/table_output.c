/* Outputs written as tables of databases. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/output_sink.h"
#include "io/database_uri.h"
#include "karma/database.h"

typedef struct table_output {
    karma_i_uri uri;
    karma_i_table_target target;
} table_output;

static karma_status deliver(void *self, FILE *text, karma_error *err) {
    table_output *o = self;
    return o->uri.driver->write_table(&o->target, text, err);
}

static void free_table_output(void *self) {
    table_output *o = self;
    if (!o) return;
    karma_i_uri_clear(&o->uri);
    karma_i_free(o);
}

static karma_status prepare_target(table_output *o, const char *path, int replace, karma_error *err) {
    KARMA_TRY(karma_i_uri_parse(&o->uri, path, err));
    if (!o->uri.driver->write_table) return karma_i_fail_not_built(&o->uri, err);
    if (!o->uri.table)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: name the table to write with ?table=NAME", o->uri.name);
    o->target = (karma_i_table_target){&o->uri, replace};
    return o->uri.driver->check_target(&o->target, err);
}

karma_status karma_output_open_table(karma_output **out, const char *path, int replace, karma_error *err) {
    if (!path || !karma_is_database(path)) {
        if (path) KARMA_TRY(karma_i_check_file_name(path, err));
        return karma_output_open(out, path, err);
    }
    table_output *o = karma_i_zalloc(1, sizeof *o);
    if (!o) return karma_i_fail_memory(err);
    karma_status st = prepare_target(o, path, replace, err);
    if (st == KARMA_OK)
        return karma_i_output_open_sink(out, o->uri.name, (karma_i_output_sink){deliver, free_table_output, o}, err);
    free_table_output(o);
    return st;
}
