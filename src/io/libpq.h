/* PostgreSQL's client library, loaded at the first connection to a server: it pulls in twenty other libraries
 * (Kerberos, LDAP, TLS), which took more than half of the start-up time of the tool. */
#ifndef KARMA_I_LIBPQ_H
#define KARMA_I_LIBPQ_H

#include <libpq-fe.h>

#include "karma/base.h"

/* The functions that are used. */
/* clang-format off */
#define KARMA_I_LIBPQ_LIST(X) \
    X(PQcancel) X(PQclear) X(PQconnectdbParams) X(PQconninfoFree) X(PQconninfoParse) X(PQconsumeInput) \
    X(PQdescribePrepared) X(PQerrorMessage) X(PQescapeIdentifier) X(PQexec) X(PQexecParams) X(PQfinish) \
    X(PQfname) X(PQfreeCancel) X(PQfreemem) X(PQftype) X(PQgetCancel) X(PQgetCopyData) X(PQgetResult) \
    X(PQgetvalue) X(PQisBusy) X(PQnfields) X(PQnparams) X(PQntuples) X(PQpass) X(PQprepare) \
    X(PQputCopyData) X(PQputCopyEnd) X(PQresultStatus) X(PQsendQuery) X(PQsocket) X(PQstatus) \
    X(PQtransactionStatus)
/* clang-format on */

#define KARMA_I_LIBPQ_MEMBER(name) __typeof__(name) *name; /* NOLINT(bugprone-macro-parentheses): a declaration */
typedef struct karma_i_libpq {
    KARMA_I_LIBPQ_LIST(KARMA_I_LIBPQ_MEMBER)
} karma_i_libpq;
#undef KARMA_I_LIBPQ_MEMBER

/* The functions of the library, which stays loaded. If it is not installed, the message names `user`. */
karma_status karma_i_libpq_load(karma_i_libpq *out, const char *user, karma_error *err);

#endif
