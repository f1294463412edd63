#pragma once
#include <string_view>

#include "trace/trace_source.h"

/// The trace points of our own iWARP stack (docs/man/rdmascope-iwarp.7) as records: its enumerations become the verbs'.
namespace trace::inline uprobe {

class ProbeArguments;

/// Whether occurrences of it become records: post_send, post_receive, completion and state of the provider `rdmascope`.
/// Its others report batches of bytes, not of messages.
bool is_stack_probe(std::string_view name);

Converter stack_converter(std::string_view name, const ProbeArguments& arguments);

}  // namespace trace::uprobe
