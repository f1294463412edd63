#include "dissect/registry.h"

#include <algorithm>

#include "dissect/layer_table.h"
#include "dissect/output/analysis_fields.h"
#include "dissect/output/command_fields.h"
#include "dissect/output/frame_fields.h"

namespace dissect {

void FieldRegistry::add(const wire::FieldInfo& info, std::string_view protocol, const LayerSet& layers, bool heading,
                        bool of_frame) {
    if (info.name.empty()) return;
    const auto [at, fresh] = by_name_.try_emplace(info.name, static_cast<std::uint32_t>(fields_.size()));
    if (fresh) fields_.push_back({at->second, &info, {}, {}, protocol, heading, of_frame});
    RegisteredField& field = fields_[at->second];
    field.layers |= layers;
    if (by_declaration_.try_emplace(&info, at->second).second) field.declarations.push_back(&info);
}

FieldRegistry::FieldRegistry() {
    for (unsigned i = 0; i < layer_count; ++i) {
        const auto id = static_cast<LayerId>(i);
        const LayerRow& row = row_of(id);
        LayerSet layers;
        layers.insert(id);
        std::string_view protocol;
        if (row.protocol != nullptr) {
            protocol = row.protocol->name;
            if (std::find(protocols_.begin(), protocols_.end(), row.protocol) == protocols_.end())
                protocols_.push_back(row.protocol);
            add(*row.protocol, protocol, layers, true, false);
        }
        add(row.heading, protocol, layers, row.heading.kind == wire::Kind::none, false);
        for (const auto& info : row.fields) add(info, protocol, layers, false, false);
        for (const auto& info : row.computed) add(info, protocol, layers, info.kind == wire::Kind::none, false);
        for (const auto& group : row.groups)
            for (const auto& info : group) add(info, protocol, layers, false, false);
    }
    add_of_frame();
}

FieldRegistry::FieldRegistry(std::span<const FieldOfTable> table, std::string_view noun) : noun_(noun) {
    for (const FieldOfTable& row : table) {
        add(row.info, {}, {}, false, true);
        fields_.back().form = row.form;
    }
}

void FieldRegistry::add_of_frame() {
    const auto add_all = [this](const wire::FieldInfo& heading, const auto& table) {
        for (const auto& row : table) add(row.info, heading.name, {}, false, true);
    };
    for (const wire::FieldInfo* heading : {&output::frame_heading, &output::unit_heading}) {
        protocols_.push_back(heading);
        add(*heading, heading->name, {}, true, true);
    }
    add_all(output::frame_heading, output::frame_fields());
    add_all(output::unit_heading, output::unit_fields());
    add_all(output::unit_heading, output::outcome_fields());
    add(output::notice_heading, output::unit_heading.name, {}, false, true);
    add_all(output::unit_heading, output::notice_fields());
    for (const wire::FieldInfo& info : output::analysis_fields()) add(info, output::unit_heading.name, {}, false, true);
    add_all(output::unit_heading, output::connection_fields());
    add(output::command_heading, output::unit_heading.name, {}, false, true);
    add_all(output::unit_heading, output::command_fields());
}

const RegisteredField* FieldRegistry::find(std::string_view name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &fields_[at->second];
}

const RegisteredField* FieldRegistry::find(const wire::FieldInfo& info) const {
    const auto at = by_declaration_.find(&info);
    return at == by_declaration_.end() ? nullptr : &fields_[at->second];
}

namespace {
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}
}  // namespace

std::vector<std::string_view> FieldRegistry::similar(std::string_view name, std::size_t count) const {
    std::vector<std::pair<std::size_t, std::string_view>> ranked;
    for (const auto& field : fields_) {
        const std::string_view known = field.info->name;
        const std::size_t distance = edit_distance(name.substr(0, 80), known);
        const bool contained = name.size() >= 3 && known.find(name) != std::string_view::npos;
        if (contained || distance <= 2 + name.size() / 4) ranked.emplace_back(contained ? 0 : distance, known);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string_view> names;
    for (const auto& [distance, known] : ranked) {
        if (names.size() == count) break;
        names.push_back(known);
    }
    return names;
}

}  // namespace dissect
