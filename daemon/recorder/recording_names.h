#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/open_file.h"

/// How recordings are called, and which of the files in their directory are theirs.
namespace service::inline recorder {

/// "rdmascope-20261121T101530.123Z-TRIGGER.pcapng". Of the trigger's name letters, digits, `-` and `_` stay, the rest
/// is `_`; at most 64 of them.
std::string recording_name(std::int64_t time_ns, std::string_view trigger);
bool is_recording(std::string_view name);

/// As it is called until it is whole: hidden.
std::string unfinished_name(std::string_view name);

/// Removes unfinished files that no process is writing.
void remove_unfinished(const base::Folder& folder);
/// Keeps the newest `max_files`, `just_written` among them. Names with a later time than that come from a clock that
/// was set since, and go first. Returns how many were removed.
std::uint64_t remove_oldest(const base::Folder& folder, std::uint64_t max_files, const std::string& just_written);

}  // namespace service::recorder
