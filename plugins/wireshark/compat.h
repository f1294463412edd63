// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
/// Wireshark's headers, and the differences between 4.0 and 4.4. No other file of the plugin depends on a version.
#ifndef WS_BUILD_DLL
#define WS_BUILD_DLL  // the symbols that Wireshark looks for are exported
#endif
#include <epan/packet.h>
// The order matters: epan/packet.h comes first.
#include <cstddef>
#include <epan/expert.h>
#include <epan/funnel.h>
#include <epan/prefs.h>
#include <epan/proto.h>
#include <epan/stat_tap_ui.h>
#include <epan/tap.h>
#include <wiretap/wtap.h>
#include <ws_symbol_export.h>
#include <ws_version.h>

namespace plugins::wireshark {

/// The type of an on/off preference: gboolean, and bool since 4.4.
template <class Flag>
Flag flag_of(void (*)(module_t*, const char*, const char*, const char*, Flag*));
using Flag = decltype(flag_of(prefs_register_bool_preference));

/// Number of the bytes that a frame's tvbuff holds; never wider than int.
inline std::size_t captured_octets(tvbuff_t* tvb) { return static_cast<std::size_t>(tvb_captured_length(tvb)); }

}  // namespace plugins::wireshark

#if WIRESHARK_VERSION_MAJOR > 4 || WIRESHARK_VERSION_MINOR >= 4
#include <wsutil/plugins.h>
#define RDMASCOPE_PLUGIN_DESCRIBE 1  // Wireshark asks a plugin what it is
#endif
