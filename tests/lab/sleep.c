/* sleep(1) for an emulated machine: no libraries to be linked, and no less than 0.4 s for its first process, whose loop
 * would otherwise take most of the processor. Seconds only, as a decimal number. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
    if (getppid() == 1 && seconds < 0.4) seconds = 0.4;
    const struct timespec wanted = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    return nanosleep(&wanted, NULL) == 0 ? 0 : 1;
}
