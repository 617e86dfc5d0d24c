/* The program karma: one process. */
#include "tool.h"

int main(int argc, char **argv) {
    return run_tool(argc, argv, NULL);
}
