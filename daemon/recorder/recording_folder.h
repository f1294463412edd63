#pragma once
#include <string>

namespace service::inline recorder {

/// Makes the folder for recordings, and those above it that are missing. Returns why no file can be made there, with
/// what to do; empty where one can: an incident is no time to find that out.
std::string prepare_recording_folder(const std::string& directory);

/// The same sentence for an error that came later.
std::string no_recording_in(const std::string& directory, int code);

}  // namespace service::recorder
