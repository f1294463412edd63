#pragma once
#include <string>
#include <string_view>

#include "dissect/output/printer.h"

namespace dissect::output {

/// Appends a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// `2026-11-21` in UTC, of a time in nanoseconds since 1970.
void append_date(std::string& out, std::int64_t time_ns);

/// Appends the members of a JSON object, in tshark's form of a tree: a heading without a value is an object, one with a
/// value is a member and, next to it, an object with `_tree` after its name. A name may come more than once in an
/// object: each occurrence is a member of its own. RFC 8259 section 4 permits that, and a general JSON library cannot
/// write it.
class JsonVisitor final : public Visitor {
public:
    JsonVisitor(std::string& out, unsigned level) : out_(&out), base_level_(level), level_(level) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) override;
    void close() override;

private:
    void member(std::string_view name, std::string_view suffix);
    void write_value(const wire::FieldInfo& info, const wire::Value& value);
    void open_pending();

    std::string* out_;
    unsigned base_level_;
    unsigned level_;
    bool first_ = true;                         ///< the next member of this object is its first
    const wire::FieldInfo* pending_ = nullptr;  ///< a heading whose object is opened with its first member
};

/// `-T json` without `-e`.
class JsonPrinter final : public TreePrinterBase {
public:
    JsonPrinter(std::string& out, InterfaceNames names)
        : TreePrinterBase(std::move(names)), out_(out), visitor_(body_, 4) {}

    void begin() override { out_ += '['; }
    void finish() override;

private:
    void start() override;
    Visitor& body() override { return visitor_; }
    void show(const FrameView& view) override;

    std::string& out_;
    std::string body_;
    JsonVisitor visitor_;
    bool any_ = false;
};

/// The frame of a record up to `"layers": `, shared with `-T json -e`.
void open_json_record(std::string& out, std::int64_t time_ns, bool first);
void close_json_record(std::string& out);

}  // namespace dissect::output
