#pragma once
#include <string>

#include "base/error.h"
#include "base/open_file.h"

namespace service::inline recorder {

/// Makes the folder for recordings, and those above it that are missing. Fails with why no file can be made there, and
/// what to do: an incident is no time to find that out.
base::Result<void> prepare_recording_folder(const std::string& directory);

/// The folder, as another user who may write there cannot exchange it.
base::Result<base::Folder> open_recording_folder(const std::string& directory);

/// The same error for an errno that came later.
base::Failure<base::Error> recording_folder_failure(const std::string& directory, int code);

}  // namespace service::recorder
