// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <exception>
#include <new>
#include <utility>

namespace plugins::wireshark {

/// Reports a failure to the user, the first time only.
void report_failure_once(const char* what, const char* reason);

/// Runs a function that Wireshark, C code, has called: no exception may leave it. Wireshark's own exit from a dissector
/// (except.h) is a longjmp, which this permits.
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
