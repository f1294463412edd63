#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dissect/field_collector.h"
#include "dissect/output/printer.h"
#include "dissect/registry.h"

namespace dissect::output {

/// Gathers chosen fields of each frame; for the printers that show only these fields.
class ChosenFields : public Printer {
public:
    /// The registry must outlive the printer.
    ChosenFields(const FieldRegistry& registry, std::span<const RegisteredField* const> fields, InterfaceNames names);

    void on_frame(const wire::Frame& frame, const Dissection& dissection) final;
    void on_unit(const Unit& unit) final;
    void on_notice(const Notice& notice) final;
    void on_message(const UpperMessage& message) final;
    void end_frame(bool shown) final;

    /// A display filter over the same frames chooses its fields here, before the first frame.
    FieldCollector& collector();
    /// Receives values of chosen fields that neither the frame nor its units have, between `on_frame` and `end_frame`.
    Visitor& visitor() { return collector_; }
    /// Whether a field is among those that are shown, or that a display filter has chosen.
    bool wants(const wire::FieldInfo& info) const { return collector_.wants(info); }
    /// All units of the frame are known: gathers the values of the frame itself. `end_frame` does this if the display
    /// filter did not need it.
    void complete();

protected:
    struct Column {
        const RegisteredField* field;
        std::uint32_t slot;
    };
    std::span<const Column> columns() const { return columns_; }
    std::span<const FoundValue> values(const Column& column) const { return collector_.values(column.slot); }
    /// A complete frame to be shown.
    virtual void show(const wire::Frame& frame) = 0;

private:
    FieldCollector collector_;
    std::vector<Column> columns_;
    InterfaceNames names_;
    FrameClock clock_;
    FrameTimes times_;
    const wire::Frame* frame_ = nullptr;
    const Dissection* dissection_ = nullptr;
    std::string protocols_;
    bool wants_frame_ = false;      ///< a field is of `frame` or `rdma`
    bool wants_protocols_ = false;  ///< frame.protocols may be among them
    bool has_units_ = false;
    bool complete_ = false;
};

/// `-E`, with tshark's defaults.
struct FieldsFormat {
    bool header = false;
    bool bom = false;
    char separator = '\t';
    char aggregator = ',';
    char quote = 0;  ///< 0: none
    enum class Occurrence : std::uint8_t { first, last, all } occurrence = Occurrence::all;
};

/// `-T fields`: one line for each frame, one column for each field.
class FieldsPrinter final : public ChosenFields {
public:
    FieldsPrinter(std::string& out, const FieldRegistry& registry, std::span<const RegisteredField* const> fields,
                  const FieldsFormat& format, InterfaceNames names)
        : ChosenFields(registry, fields, std::move(names)), out_(out), format_(format) {}

    void begin() override;

private:
    void show(const wire::Frame& frame) override;

    std::string& out_;
    FieldsFormat format_;
};

/// `-T json` with `-e`: one array for each field.
class JsonFieldsPrinter final : public ChosenFields {
public:
    JsonFieldsPrinter(std::string& out, const FieldRegistry& registry, std::span<const RegisteredField* const> fields,
                      InterfaceNames names)
        : ChosenFields(registry, fields, std::move(names)), out_(out) {}

    void begin() override { out_ += '['; }
    void finish() override;

private:
    void show(const wire::Frame& frame) override;

    std::string& out_;
    bool any_ = false;
};

/// `-T ek` with `-e`.
class EkFieldsPrinter final : public ChosenFields {
public:
    EkFieldsPrinter(std::string& out, const FieldRegistry& registry, std::span<const RegisteredField* const> fields,
                    InterfaceNames names)
        : ChosenFields(registry, fields, std::move(names)), out_(out) {}

private:
    void show(const wire::Frame& frame) override;

    std::string& out_;
};

}  // namespace dissect::output
