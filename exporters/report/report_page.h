#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace exporters::report {

/// Whether the page was built into this program.
bool has_page();
/// Why the page was not built, and how to build it, in sentences; empty if it was built.
std::string_view reason_of_no_page();

/// The page with a report's document in its element `data`. `document` is JSON; it may contain any text.
std::string report_page(std::string_view document);

/// The page without a document. It asks the server that it came from for a document and for events.
std::string live_page();
/// The Content-Security-Policy of live_page(), for the header of this name.
std::string live_policy();

/// JSON that cannot end the element in which it stands, nor begin a comment there: `<` becomes `\u003c`, which only
/// strings contain.
std::string escaped_for_element(std::string_view json);

}  // namespace exporters::report
