/* A library whose versions, needs and data the test knows from here. */
#include <unistd.h>

struct ops {
    const char *name;
    unsigned least, most;
    const void *table;
};
const struct ops sample_ops = {"sample", 3, 5, &sample_ops};

int sample_old(void) { return getpid(); }
int sample_new(void) { return sample_ops.least > 3; }

const char sample_info[] __attribute__((section(".modinfo"))) =
    "license=GPL\0srcversion=0123456789ABCDEF01234567\0intree=Y";
