#pragma once
#include <string>

#include "cli/replay/options.h"
#include "replay/peer/conversation.h"

namespace cli::replay {

/// The connection of the capture that `--flow` names, or the only one there is, from its beginning; else why there is
/// none to be played.
base::Result<::replay::Conversation, std::string> read_connection(const ReplayOptions& options);

}  // namespace cli::replay
