#include "headers.c"
