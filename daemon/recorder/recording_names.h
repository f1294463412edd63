#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/open_file.h"

/// The names of recordings, and which files in their directory are recordings.
namespace service::inline recorder {

/// "rdmascope-20261121T101530.123Z-TRIGGER.pcapng". Letters, digits, `-` and `_` of the trigger's name stay, other
/// characters become `_`; at most 64 characters.
std::string recording_name(std::int64_t time_ns, std::string_view trigger);
bool is_recording(std::string_view name);

/// The name while it is incomplete: hidden.
std::string unfinished_name(std::string_view name);

/// Removes unfinished files that no process is writing.
void remove_unfinished(const base::Folder& folder);
/// Keeps the newest `max_files`, including `just_written`. Names with a later time than `just_written` come from a
/// clock that was set back since; they are removed first. Returns how many were removed.
std::uint64_t remove_oldest(const base::Folder& folder, std::uint64_t max_files, const std::string& just_written);

}  // namespace service::recorder
