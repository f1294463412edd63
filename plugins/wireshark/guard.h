// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <exception>
#include <new>
#include <utility>

namespace plugins::wireshark {

/// Tells the user what failed, the first time that something does.
void report_failure_once(const char* what, const char* reason);

/// Runs what Wireshark has called: C code, through which no exception may pass. Wireshark's own way out of a dissector
/// (except.h) is a longjmp, which this lets pass.
template <class Work>
void guarded(const char* what, Work&& work) {
    try {
        std::forward<Work>(work)();
    } catch (const std::exception& failure) {
        report_failure_once(what, failure.what());
    } catch (...) {
        report_failure_once(what, "unknown reason");
    }
}

}  // namespace plugins::wireshark
