#pragma once
#include <string>
#include <string_view>

#include "exporters/flow_fields.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {
struct DeviceFigures;
}

namespace exporters {

/// One object from figures with dotted paths, which come in the order of their table: members of a group together.
class ObjectWriter {
public:
    explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }

    void put(std::string_view path, const Value& value);
    /// A member of the object itself, its value as JSON has it.
    void put_json(std::string_view name, std::string_view json);
    /// Opens the groups of `path` without a member: they appear, though empty.
    void open(std::string_view path) { enter(path.substr(0, path.rfind('.'))); }
    void finish();

private:
    void enter(std::string_view parents);
    void key(std::string_view name);

    std::string& out_;
    std::string_view parents_ = {};  ///< "latency_ns.send" while its members are written
    bool first_ = true;
};

/// One flow as an object of `flows`: nested by the paths of `columns`, which are in the order of their table.
void append_json(std::string& out, const FlowColumns& columns, const FlowRow& row);
/// Columns in the order that nesting needs, each once.
FlowColumns in_json_order(const FlowColumns& columns);

void append_json(std::string& out, const metrics::CaptureFigures& capture, const Context& context);
void append_json(std::string& out, const metrics::HostSnapshot& host, const Context& context);
void append_json(std::string& out, const metrics::PauseSnapshot& pauses);
void append_json(std::string& out, const metrics::ConnectionAttempt& attempt, const Context& context);

/// The document `{"flows": [...], "capture": {...}, "hosts": [...], "pauses": [...], "attempts": [...]}` in pieces, so
/// that a million flows need no memory: begin, flow for each, end; with `"devices": {...}` where there are any.
class FlowsDocument {
public:
    explicit FlowsDocument(FlowColumns columns) : columns_(in_json_order(columns)) {}

    void begin(std::string& out);
    /// The same, with the capture's figures first, if they are known already.
    void begin(std::string& out, const metrics::CaptureFigures& capture, const Context& context);
    void flow(std::string& out, const FlowRow& row);
    void end(std::string& out, const metrics::Snapshot& snapshot, const Context& context,
             const metrics::DeviceFigures* devices = nullptr);

private:
    FlowColumns columns_;
    bool capture_written_ = false;
    bool first_ = true;
};

}  // namespace exporters
