#include "cli/why/page.h"
#include "exporters/why_json.h"

namespace cli::why {

std::string json(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, bool crc_verified) {
    return exporters::why_json(snapshot, answers, crc_verified, 2) + "\n";
}

}  // namespace cli::why
