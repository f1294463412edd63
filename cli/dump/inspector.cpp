#include "cli/dump/inspector.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <optional>
#include <unistd.h>
#include <vector>

#include "cli/address_names.h"
#include "cli/console.h"
#include "cli/dump/color.h"
#include "cli/dump/frame_analysis.h"
#include "dissect/dissector.h"
#include "dissect/filter/filter.h"
#include "dissect/output/analysis_fields.h"
#include "dissect/output/chosen_fields.h"
#include "dissect/output/command_fields.h"
#include "dissect/output/ek.h"
#include "dissect/output/frame_fields.h"
#include "dissect/output/hex.h"
#include "dissect/output/json.h"
#include "dissect/output/text_line.h"
#include "dissect/output/tree.h"
#include "dissect/subnet/management_learner.h"
#include "upper/reader.h"

namespace cli::dump {

namespace {

namespace output = dissect::output;

using Fields = std::vector<const dissect::RegisteredField*>;
template <class T>
using Made = base::Result<T, std::string>;

/// Collects the fields of a display filter, if the printer collects none.
class FilterFields final : public output::ChosenFields {
public:
    FilterFields(const dissect::FieldRegistry& registry, output::InterfaceNames names)
        : ChosenFields(registry, {}, std::move(names)) {}

private:
    void show(const wire::Frame&) override {}
};

Made<Fields> fields_of(const std::vector<std::string>& names, const Environment& environment) {
    Fields fields;
    if (names.empty()) return fields;
    const dissect::FieldRegistry& registry = environment.fields();
    std::string unknown;
    for (const std::string& name : names) {
        if (const dissect::RegisteredField* field = registry.find(name)) {
            fields.push_back(field);
            continue;
        }
        std::string likes;
        for (const std::string_view like : registry.similar(name, 3))
            likes += fmt::format("{}{}", likes.empty() ? "" : ", ", like);
        unknown += fmt::format("{}-e {}: there is no such field{}", unknown.empty() ? "" : "\n", name,
                               likes.empty() ? "" : fmt::format("; near it are {}", likes));
    }
    if (unknown.empty()) return fields;
    return base::Failure{unknown + "\n`rdmascope dump -G fields` lists all"};
}

output::TextOptions text_options(const DumpOptions& options) {
    output::TextOptions text;
    // Both enumerations have the order of tcpdump's letters.
    text.time_style = static_cast<base::TimeStyle>(options.time_style);
    text.octets = static_cast<output::OctetDump>(options.octets);
    static_assert(static_cast<int>(base::TimeStyle::since_first) == static_cast<int>(TimeStyle::since_first));
    static_assert(static_cast<int>(output::OctetDump::ascii) == static_cast<int>(Octets::ascii));
    text.nanoseconds = options.precision == capture::TimePrecision::nano;
    text.all = options.all;
    text.commands_only = options.commands_only;
    text.number = options.number;
    text.link_header = options.link_header;
    text.quiet = options.quiet;
    text.absolute_sequence = options.absolute_sequence;
    text.verbosity = options.verbosity;
    text.octets_of_link = options.octets_of_link;
    return text;
}

/// The names that lines have for addresses: of hosts, and of nodes as far as the capture has named them so far.
void add_names(output::TextOptions& text, AddressNames given, const dissect::subnet::ManagementLearner& learner) {
    const auto names = std::make_shared<const AddressNames>(std::move(given));
    text.host_names = [names, &learner](std::string& out, base::Bytes address) {
        dissect::subnet::Gid gid{};
        if (address.size() != gid.size()) return names->append_host(out, address);
        std::memcpy(gid.data(), address.data(), gid.size());
        const dissect::subnet::KnownNode node = learner.names().find(gid);
        return names->append_gid(out, address, {node.guid, node.description});
    };
    text.lid_names = [names, &learner](std::string& out, std::uint16_t lid) {
        const dissect::subnet::KnownNode node = learner.names().find(lid);
        return names->append_lid(out, lid, {node.guid, node.description});
    };
}

output::FieldsFormat fields_format(const FieldsFormat& wanted) {
    output::FieldsFormat format;
    format.header = wanted.header;
    format.bom = wanted.bom;
    format.separator = wanted.separator;
    format.aggregator = wanted.aggregator;
    format.quote = wanted.quote;
    using Occurrence = output::FieldsFormat::Occurrence;
    format.occurrence = wanted.occurrence == 'f'   ? Occurrence::first
                        : wanted.occurrence == 'l' ? Occurrence::last
                                                   : Occurrence::all;
    return format;
}

constexpr dissect::LayerSet layers_of_iwarp() {
    dissect::LayerSet layers;
    for (auto id = static_cast<unsigned>(dissect::LayerId::mpa_request);
         id <= static_cast<unsigned>(dissect::LayerId::ulp_payload); ++id)
        layers.insert(static_cast<dissect::LayerId>(id));
    return layers;
}

/// The last group of RDMASCOPE_LAYERS.
constexpr dissect::LayerSet layers_of_commands() {
    dissect::LayerSet layers;
    for (auto id = static_cast<unsigned>(dissect::LayerId::nvme_command); id < dissect::layer_count; ++id)
        layers.insert(static_cast<dissect::LayerId>(id));
    return layers;
}

/// Whether a field of the frame depends on its commands. Those of layers say so by their layers.
bool is_of_commands(std::string_view field) {
    const auto has = [field](const auto& rows) {
        return std::ranges::any_of(rows, [field](const auto& row) { return row.info.name == field; });
    };
    return field == output::unit_heading.name || field == output::command_heading.name ||
           has(output::connection_fields()) || has(output::command_fields());
}

/// Steps that take time and are not needed for each output.
struct Needs {
    bool units = true;  ///< join TCP segments, and recognise retransmissions
    bool crcs = true;
    bool commands = true;  ///< find commands of upper layers

    void of_layers(const dissect::LayerSet& layers) {
        dissect::LayerSet with_crc;
        with_crc.insert(dissect::LayerId::icrc);
        with_crc.insert(dissect::LayerId::vcrc);
        commands = commands || layers.intersects(layers_of_commands());
        units = units || commands || layers.intersects(layers_of_iwarp());
        crcs = crcs || units || layers.intersects(with_crc);
    }
};

/// Whether a field needs the flows to be measured.
bool wants_analysis(const output::ChosenFields& chosen) {
    return std::ranges::any_of(output::analysis_fields(),
                               [&](const wire::FieldInfo& info) { return chosen.wants(info); });
}

/// The steps that chosen fields need, so that `-T fields -e infiniband.bth.opcode` spends no time on other steps.
Needs needs_of(const Fields& fields) {
    Needs needs{false, false, false};
    for (const dissect::RegisteredField* field : fields) {
        const std::string_view name = field->info->name;
        if (field->of_frame && (!name.starts_with("frame.") || name == "frame.protocols")) {
            needs.units = true;
            needs.crcs = true;
        }
        needs.commands = needs.commands || is_of_commands(name);
        needs.of_layers(field->layers);
    }
    return needs;
}

dissect::DissectorOptions dissector_options(const DumpOptions& options, const Needs& needs) {
    dissect::DissectorOptions dissector;
    dissector.parse.verify_crc = options.verify_crc && needs.crcs;
    dissector.follow_streams = needs.units;
    dissector.find_repeats = needs.units;
    return dissector;
}

}  // namespace

/// The sink of the dissector: passes everything on to the printer and to the display filter.
struct Inspector::State final : dissect::Sink {
    State(const DumpOptions& settings, TextOutput& text_output)
        : options(settings),
          out(text_output),
          colored(settings.form == Form::text && (settings.color == Color::always ||
                                                  (settings.color == Color::automatic && wants_color(STDOUT_FILENO)))) {
    }

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        carries_rdma = false;
        if (dissection.unread && !late) unread.add(dissection.unread);
        link_octets = options.octets == Octets::none ? 0 : output::link_length(dissection);
        if (printer) printer->on_frame(frame, dissection);
        if (filter_fields) filter_fields->on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        if (late) on_frame(unit.frame, unit.frame_dissection);
        carries_rdma = true;
        if (text != nullptr && options.names) learner.learn(unit);
        if (printer) printer->on_unit(unit);
        if (filter_fields) filter_fields->on_unit(unit);
        if (late) settle(unit.frame);
    }
    void on_message(const dissect::UpperMessage& message) override {
        if (late) return;
        if (printer) printer->on_message(message);
        if (filter_fields) filter_fields->on_message(message);
    }
    void on_notice(const dissect::Notice& notice) override {
        if (late) on_frame(notice.frame, notice.frame_dissection);
        carries_rdma = true;
        if (printer) printer->on_notice(notice);
        if (filter_fields) filter_fields->on_notice(notice);
        if (late) settle(notice.frame);
    }

    /// The sink for the dissector's units.
    dissect::Sink& sink() { return reader ? static_cast<dissect::Sink&>(*reader) : *this; }

    /// The frame is complete: prints it if its kind is printed and the display filter selects it. Returns whether it
    /// counts: frames that count are saved, if frames are saved.
    bool settle(const wire::Frame& frame);

    /// Whether the last frame is of a kind that is printed.
    bool printable() const {
        if (text != nullptr && !text->has_lines()) return false;
        return !(options.form == Form::tree && printer && !carries_rdma && !options.all);
    }
    /// Whether the display filter selects the last frame.
    bool passes() {
        // Units that the end of the capture releases belong to frames that were shown before.
        if (!flows.empty() && (late || !analysis->concerns(flows))) return false;
        if (!filter) return true;
        output::ChosenFields& gathered = filter_fields ? *filter_fields : *chosen;
        gathered.complete();
        return filter->matches(*collector);
    }

    /// The printer or filter that shows chosen fields; null if absent.
    output::ChosenFields* gathering() { return chosen != nullptr ? chosen : filter_fields.get(); }
    void make_dissector();
    void dissect(const wire::Frame& frame);
    /// Delivers the units that streams still hold.
    void finish_dissector() {
        if (dissector)
            dissector->finish(sink());
        else
            analysis->finish();
    }

    Made<bool> make_printer(const Environment& environment);
    Made<bool> make_filter(const Environment& environment);
    template <class Printer>
    std::unique_ptr<Printer> make_chosen(const dissect::FieldRegistry& registry, const Fields& fields) {
        auto made = std::make_unique<Printer>(out.text(), registry, fields, names());
        chosen = made.get();
        return made;
    }
    output::InterfaceNames names() {
        return [this](std::uint32_t index) -> output::InterfaceName {
            const auto& interfaces = source->interfaces();
            if (index >= interfaces.size()) return {};
            return {interfaces[index].name, source->id_of(index)};
        };
    }

    const DumpOptions& options;
    TextOutput& out;
    AddressNames given_names = {};                    ///< until the printer has them
    dissect::subnet::ManagementLearner learner = {};  ///< before the printer, which looks names up there
    bool colored;
    const capture::Source* source = nullptr;
    std::unique_ptr<output::Printer> printer = {};
    output::TextPrinter* text = nullptr;     ///< the printer, if it prints text
    output::ChosenFields* chosen = nullptr;  ///< the printer, if it prints chosen fields
    std::unique_ptr<FilterFields> filter_fields = {};
    dissect::FieldCollector* collector = nullptr;  ///< the fields for the filter
    std::optional<dissect::filter::Filter> filter = {};
    Needs needs = {};
    std::unique_ptr<dissect::Dissector> dissector = {};  ///< used if flows are not measured
    std::unique_ptr<FrameAnalysis> analysis = {};        ///< used if flows are measured
    bool describes_analysis = false;                     ///< a chosen field or the filter belongs to the analysis
    std::vector<std::uint64_t> flows = {};               ///< flows that are shown; empty: all
    std::unique_ptr<upper::Reader> reader = {};          ///< between dissector and printer, if commands are needed
    wire::CarrierCounts unread;
    bool carries_rdma = false;
    bool late = false;  ///< no more frames come: each unit and notice is a record of its own
    std::uint32_t link_octets = 0;
};

Made<bool> Inspector::State::make_printer(const Environment& environment) {
    auto fields = fields_of(options.fields, environment);
    if (!fields) return base::Failure{fields.error()};
    if (!options.prints()) return true;
    std::string& to = out.text();
    if (options.form == Form::text) {
        output::TextOptions form = text_options(options);
        if (options.names) add_names(form, std::move(given_names), learner);
        auto made = std::make_unique<output::TextPrinter>(to, form);
        text = made.get();
        printer = std::move(made);
    } else if (options.form == Form::tree) {
        printer = std::make_unique<output::TreePrinter>(to, names());
    } else if (options.form == Form::fields) {
        auto made = std::make_unique<output::FieldsPrinter>(to, environment.fields(), *fields,
                                                            fields_format(options.fields_format), names());
        chosen = made.get();
        printer = std::move(made);
    } else if (fields->empty()) {
        if (options.form == Form::json)
            printer = std::make_unique<output::JsonPrinter>(to, names());
        else
            printer = std::make_unique<output::EkPrinter>(to, environment.fields(), names());
    } else if (options.form == Form::json) {
        printer = make_chosen<output::JsonFieldsPrinter>(environment.fields(), *fields);
    } else {
        printer = make_chosen<output::EkFieldsPrinter>(environment.fields(), *fields);
    }
    if (chosen != nullptr) needs = needs_of(*fields);
    return true;
}

Made<bool> Inspector::State::make_filter(const Environment& environment) {
    if (options.display_filter.empty()) return true;
    const dissect::FieldRegistry& registry = environment.fields();
    if (chosen == nullptr) filter_fields = std::make_unique<FilterFields>(registry, names());
    collector = chosen != nullptr ? &chosen->collector() : &filter_fields->collector();
    auto compiled = dissect::filter::Filter::compile(options.display_filter, registry, *collector);
    if (!compiled) return base::Failure{fmt::format("-Y: {}", compiled.error().text())};
    filter.emplace(std::move(compiled).value());
    if (collector->wants_frame_fields()) needs = {true, true, true};
    needs.of_layers(collector->layers());
    return true;
}

void Inspector::State::make_dissector() {
    describes_analysis = gathering() != nullptr && wants_analysis(*gathering());
    if (needs.commands) {
        const upper::ReaderOptions reading{.assignments = options.assignments};
        reader = std::make_unique<upper::Reader>(reading, this, nullptr);
    }
    if (!describes_analysis && flows.empty()) {
        dissector = std::make_unique<dissect::Dissector>(dissector_options(options, needs));
        return;
    }
    analysis = std::make_unique<FrameAnalysis>(dissector_options(options, {true, true, needs.commands}), sink());
}

void Inspector::State::dissect(const wire::Frame& frame) {
    if (dissector) return dissector->dissect(frame, sink());
    analysis->expect_interfaces(source->interfaces().size());
    analysis->feed(frame);
    if (describes_analysis) analysis->describe(gathering()->visitor());
}

Inspector::Inspector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Inspector::~Inspector() = default;
const wire::CarrierCounts& Inspector::unread() const { return state_->unread; }

Made<std::unique_ptr<Inspector>> Inspector::make(const DumpOptions& options, const Environment& environment,
                                                 AddressNames names, TextOutput& output) {
    auto state = std::make_unique<State>(options, output);
    state->given_names = std::move(names);
    const bool shows_commands = options.prints() && !(options.form == Form::text && options.quiet);
    state->needs = {options.prints(), options.prints(), shows_commands};
    if (auto made = state->make_printer(environment); !made) return base::Failure{made.error()};
    if (auto made = state->make_filter(environment); !made) return base::Failure{made.error()};
    if (!state->printer && !state->filter && options.flows.empty()) return std::unique_ptr<Inspector>{};
    state->flows = options.flows;
    state->make_dissector();
    return std::unique_ptr<Inspector>(new Inspector(std::move(state)));
}

void Inspector::choose_flows(std::vector<std::uint64_t> flows) { state_->flows = std::move(flows); }

void Inspector::begin(const capture::Source& source) {
    state_->source = &source;
    if (state_->printer) state_->printer->begin();
}

bool Inspector::State::settle(const wire::Frame& frame) {
    const bool saves = options.write_path.has_value();
    const bool of_kind = printable();
    const bool passed = (of_kind || saves) && passes();
    const bool shown = of_kind && passed;
    if (filter_fields) filter_fields->end_frame(shown);
    if (!printer) return passed;
    std::string& text_so_far = out.text();
    const std::size_t begin = text_so_far.size();
    printer->end_frame(shown);
    if (!shown) return saves && passed;
    if (colored) color_lines(text_so_far, begin);
    if (options.form == Form::tree && options.octets != Octets::none && !late)
        output::append_dump(text_so_far, frame.bytes.subspan(options.octets_of_link ? 0 : link_octets),
                            static_cast<output::OctetDump>(options.octets));
    out.settle();
    return true;
}

bool Inspector::inspect(const wire::Frame& frame) {
    state_->dissect(frame);
    return state_->settle(frame);
}

void Inspector::end(bool complete) {
    if (state_->source == nullptr) return;
    state_->late = true;
    if (complete) state_->finish_dissector();
    if (state_->printer) state_->printer->finish();
}

}  // namespace cli::dump
