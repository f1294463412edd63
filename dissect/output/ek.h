#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/output/printer.h"
#include "dissect/registry.h"

namespace dissect::output {

/// The two lines of a record for Elasticsearch's bulk interface, up to the members of `layers`, and the end of the
/// record.
void open_ek_record(std::string& out, std::int64_t time_ns);
void close_ek_record(std::string& out);
/// A field's name as Elasticsearch accepts it: dots become underscores.
void append_ek_name(std::string& out, std::string_view name);

/// Gathers the protocols of a frame and their fields, without the tree: fields of one name become an array, and so do
/// protocols. `write` writes what was gathered.
class EkVisitor final : public Visitor {
public:
    explicit EkVisitor(const FieldRegistry& registry);

    void clear();
    /// Appends the members of `layers`.
    void write(std::string& out);

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) override;
    void close() override;

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// One value; those of the same field in the same protocol are chained in their order.
    struct Entry {
        const RegisteredField* field;
        std::uint32_t first;  ///< of the value in `text_`
        std::uint32_t length;
        std::uint32_t next = none;
        bool chained = false;  ///< an earlier entry's chain holds it
    };
    struct Protocol {
        const RegisteredField* field;
        std::uint32_t first;  ///< of its entries
        std::uint32_t end;
        std::uint32_t next = none;
        bool chained = false;
    };
    /// The last entry of a field in the present protocol.
    struct Last {
        std::uint64_t protocol = 0;
        std::uint32_t index = 0;
    };

    void enter(const RegisteredField& field);
    void add(const wire::FieldInfo& info, const wire::Value& value);
    void write_protocol(std::string& out, const Protocol& protocol) const;
    std::string_view text(const Entry& entry) const {
        return std::string_view{text_}.substr(entry.first, entry.length);
    }

    const FieldRegistry& registry_;
    std::string text_;
    std::vector<Entry> entries_;
    std::vector<Protocol> protocols_;
    std::vector<Last> last_entry_;     ///< by the field's id
    std::vector<Last> last_protocol_;  ///< by the field's id
    std::uint64_t protocol_stamp_ = 0;
    std::uint64_t frame_stamp_ = 0;
    unsigned level_ = 0;
};

/// `-T ek` without `-e`.
class EkPrinter final : public TreePrinterBase {
public:
    EkPrinter(std::string& out, const FieldRegistry& registry, InterfaceNames names)
        : TreePrinterBase(std::move(names)), out_(out), head_(registry), body_(registry) {}

private:
    void start() override { body_.clear(); }
    Visitor& body() override { return body_; }
    void show(const FrameView& view) override;

    std::string& out_;
    EkVisitor head_;
    EkVisitor body_;
};

}  // namespace dissect::output
