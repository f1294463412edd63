#pragma once
#include <string>

#include "base/error.h"
#include "base/open_file.h"

namespace service::inline recorder {

/// Makes the folder for recordings, and missing folders above it. Fails with the reason if no file can be made there,
/// and with what to do: this must not be found out during an incident.
base::Result<void> prepare_recording_folder(const std::string& directory);

/// Opens the folder in a way that another user with write access cannot replace it.
base::Result<base::Folder> open_recording_folder(const std::string& directory);

/// The same error for an errno that came later.
base::Failure<base::Error> recording_folder_failure(const std::string& directory, int code);

}  // namespace service::recorder
