#pragma once
#include <string>

#include "cli/replay/options.h"
#include "replay/peer/conversation.h"

namespace cli::replay {

/// The connection of the capture that `--flow` names, or the only one, from its beginning; else the reason why it
/// cannot be played.
base::Result<::replay::Conversation, std::string> read_connection(const ReplayOptions& options);

}  // namespace cli::replay
