// run_traced [--trace FILE] PROGRAM [ARGUMENT]...: the tracing half of `rdmascope run`, alone.
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include "cli/run/traced.h"

int main(int argc, char** argv) {
    cli::launch::Tracing how;
    int first = 1;
    if (argc > 2 && std::strcmp(argv[1], "--trace") == 0) {
        how.file = argv[2];
        first = 3;
    }
    if (first >= argc) return 2;
    return cli::launch::run_traced(how, [&] {
        execvp(argv[first], argv + first);
        std::perror(argv[first]);
        return 127;
    });
}
