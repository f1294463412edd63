#include "cli/standard_streams.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace cli {

void hold_standard_streams() {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        // The lowest number that is free is taken: this one, since those below it are not.
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF &&
            ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

}  // namespace cli
