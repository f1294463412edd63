#pragma once
#include <string>

#include "dissect/output/printer.h"

namespace dissect::output {

/// Appends the fields it visits as indented lines, four columns a level. Hidden fields are left out.
class TreeVisitor final : public Visitor {
public:
    explicit TreeVisitor(std::string& out) : out_(&out) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) override;
    void close() override;

private:
    void line(const wire::FieldInfo& info, const wire::Value& value, bool with_value);

    std::string* out_;
    unsigned level_ = 0;
    unsigned hidden_level_ = 0;  ///< where a hidden heading was opened, plus one; 0: nowhere
};

/// `-V`: every field of every layer of every frame, a blank line behind each frame.
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
