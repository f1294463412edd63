#include "metrics/figures/command_figures.h"

namespace metrics::inline figures {

const std::array<std::string_view, command_part_count> command_part_names{"request", "target_before", "data",
                                                                          "target_after", "response"};

}  // namespace metrics::figures
