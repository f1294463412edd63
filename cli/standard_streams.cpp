#include "cli/standard_streams.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace cli {

void hold_standard_streams() {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        // open() returns the lowest free number, which is this one, because the lower ones are open.
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF &&
            ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

}  // namespace cli
