#include "tests/support/pcaps.h"

namespace support {

std::string pcaps() { return RDMASCOPE_PCAPS; }

}  // namespace support
