#pragma once
#include <string>

#include "plugins/extcap/arguments.h"

/// The answers to Wireshark before a capture, in the sentences of its extcap interface:
/// https://www.wireshark.org/docs/wsdg_html_chunked/ChCaptureExtcap.html
namespace plugins::extcap {

std::string version_sentence();
/// Every interface of the machine, `any`, the daemon and its flight recorder. Needs no rights.
std::string interface_sentences();
std::string dlt_sentences(const Arguments& arguments);
/// The interface's options; with Arguments::reload, the choices of that one.
std::string config_sentences(const Arguments& arguments);
/// Empty if the filter is valid: Wireshark shows the printed text as the filter's mistake.
std::string filter_fault(const Arguments& arguments);
/// For people.
std::string help();

}  // namespace plugins::extcap
