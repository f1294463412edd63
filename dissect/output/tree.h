#pragma once
#include <array>
#include <string>

#include "dissect/output/printer.h"

namespace dissect::output {

/// Appends the fields it visits as indented lines, four columns for each level. Hidden fields are left out. The heading
/// of a protocol repeats its most important fields: `User Datagram Protocol, Src Port: 49152, Dst Port: 4791`.
class TreeVisitor final : public Visitor {
public:
    explicit TreeVisitor(std::string& out) : out_(&out) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) override;
    void close() override;

private:
    void line(const wire::FieldInfo& info, const wire::Value& value, bool with_value);
    /// Inserts the value after the protocol's heading if it belongs there.
    void highlight(const wire::FieldInfo& info, const wire::Value& value);

    std::string* out_;
    std::size_t heading_end_ = 0;                        ///< of the protocol's heading
    std::array<std::size_t, 3> highlight_lengths_ = {};  ///< of what was inserted there, by place
    unsigned level_ = 0;
    unsigned hidden_level_ = 0;  ///< one more than the level of a hidden heading; 0: none is open
};

/// `-V`: every field of every layer of every frame, a blank line after each frame.
class TreePrinter final : public TreePrinterBase {
public:
    TreePrinter(std::string& out, InterfaceNames names)
        : TreePrinterBase(std::move(names)), out_(out), visitor_(body_) {}

private:
    void start() override {
        body_.clear();
        visitor_ = TreeVisitor{body_};
    }
    Visitor& body() override { return visitor_; }
    void show(const FrameView& view) override;

    std::string& out_;
    std::string body_;
    TreeVisitor visitor_;
};

}  // namespace dissect::output
