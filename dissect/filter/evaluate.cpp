#include "dissect/filter/evaluate.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "dissect/field_collector.h"
#include "dissect/filter/text.h"

namespace dissect::filter {

namespace {
/// Results of arithmetic on fields that occur many times: their product is bounded.
constexpr std::size_t max_results = FieldCollector::max_values;
using Values = Workspace::Values;

Operand operand_of(const FoundValue& found, Type type, bool whole = false) {
    Operand operand;
    if (is_numeric(type)) {
        operand.number =
            is_fixed_point(type) ? Wide{static_cast<std::int64_t>(found.value.number)} : Wide{found.value.number};
    } else if (type == Type::text) {
        operand.data = found.value.text.data();
        operand.size = static_cast<std::uint32_t>(found.value.text.size());
    } else {
        const base::Bytes octets = whole && !found.packet.empty() ? found.packet : found.value.bytes;
        operand.data = reinterpret_cast<const char*>(octets.data());
        operand.size = static_cast<std::uint32_t>(octets.size());
    }
    return operand;
}

/// A declaration of another kind than the field's first one cannot be compared with what was compiled for it.
bool fits(const FoundValue& found, Type type) {
    return type_of(found.info->kind) == type || (type == Type::time && type_of(*found.info) == type) ||
           (type == Type::decimal && found.info->kind == wire::Kind::time);
}

int order_prefix(const Operand& a, const Operand& b, unsigned bits) {
    const unsigned whole = bits / 8;
    if (a.size <= whole || b.size <= whole) return a.octets().compare(b.octets());
    if (const int order = whole == 0 ? 0 : std::memcmp(a.data, b.data, whole); order != 0 || bits % 8 == 0)
        return order;
    const unsigned mask = 0xff00u >> bits % 8 & 0xffu;
    return static_cast<int>(static_cast<unsigned char>(a.data[whole]) & mask) -
           static_cast<int>(static_cast<unsigned char>(b.data[whole]) & mask);
}

int order(const Operand& a, const Operand& b, Type type) {
    if (is_numeric(type)) return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
    const unsigned prefix = std::min(a.prefix, b.prefix);
    if (prefix < 128 && prefix < std::min(a.size, b.size) * 8) return order_prefix(a, b, prefix);
    return a.octets().compare(b.octets());
}

bool holds(Comparison comparison, int order) {
    switch (comparison) {
        case Comparison::equal: return order == 0;
        case Comparison::unequal: return order != 0;
        case Comparison::less: return order < 0;
        case Comparison::less_equal: return order <= 0;
        case Comparison::greater: return order > 0;
        case Comparison::greater_equal: return order >= 0;
    }
    return false;
}

/// Whether any pair, or every pair, of the values satisfies; no where one side has no value.
template <class Satisfies>
bool over_pairs(const Values& left, const Values& right, bool all, Satisfies satisfies) {
    if (left.empty() || right.empty()) return false;
    for (const auto& a : left)
        for (const auto& b : right)
            if (satisfies(a, b) != all) return !all;
    return all;
}

template <class Satisfies>
bool over_values(const Values& values, bool all, Satisfies satisfies) {
    if (values.empty()) return false;
    for (const auto& value : values)
        if (satisfies(value) != all) return !all;
    return all;
}

bool compare_field(const Instruction& step, std::span<const FoundValue> values, const Operand& constant) {
    bool any = false;
    for (const auto& found : values) {
        if (!fits(found, step.type)) continue;
        any = true;
        if (holds(step.comparison, order(operand_of(found, step.type), constant, step.type)) != step.all)
            return !step.all;
    }
    return any && step.all;
}

/// The numbers of layers that a range names, of `total`.
bool in_layers(const std::vector<Range>& ranges, std::int64_t layer, std::int64_t total) {
    const auto from_start = [&](std::int64_t number) { return number < 0 ? total + number + 1 : number; };
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
        const std::int64_t first = from_start(range.first);
        switch (range.meaning) {
            case Range::Second::length: return layer >= first && layer < first + range.second;
            case Range::Second::last: return layer >= first && layer <= from_start(range.second);
            case Range::Second::none: return layer >= first;
        }
        return false;
    });
}

/// The bytes of a range; empty if they are not all there.
std::string_view cut(std::string_view whole, const Range& range) {
    const auto size = static_cast<std::int64_t>(whole.size());
    const auto from_start = [&](std::int64_t offset) { return offset < 0 ? size + offset : offset; };
    const std::int64_t first = from_start(range.first);
    std::int64_t end = size;
    if (range.meaning == Range::Second::length) end = first + range.second;
    if (range.meaning == Range::Second::last) end = from_start(range.second) + 1;
    if (first < 0 || end > size || end <= first) return {};
    return whole.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

class Machine {
public:
    Machine(const Program& program, const FieldCollector& collector, Workspace& workspace)
        : program_(program), collector_(collector), workspace_(workspace) {}

    bool run() {
        for (std::size_t at = 0; at < program_.code.size();) {
            const Instruction& step = program_.code[at++];
            if (step.op == Op::jump_if || step.op == Op::jump_unless) {
                if (flag_ == (step.op == Op::jump_if)) at = step.a;
            } else if (step.op < Op::load_field) {
                flag_ = test(step);
            } else {
                compute(step);
            }
        }
        return flag_;
    }

private:
    bool test(const Instruction& step);
    void compute(const Instruction& step);
    bool is_member(const Operand& value, const Set& set, Type type) const;
    void load_layers(const Instruction& step, Values& into);
    void slice(Values& values, const std::vector<Range>& ranges);
    void pairwise(const Instruction& step);
    bool bit_and(const Operand& a, const Operand& b, Operand& result);
    void pick(const Instruction& step);
    void lengths(const Instruction& step, Values& values);
    void change_case(Values& values, bool upper);
    void to_text(Values& values, Type type);

    Values& at(std::uint32_t number) { return workspace_.registers[number]; }
    const Values& at(std::uint32_t number) const { return workspace_.registers[number]; }
    /// A copy of `octets` that lives as long as the evaluation; nullptr data where there is no room.
    Operand scratch(std::string_view octets) {
        Operand copy;
        char* place = workspace_.arena.allocate(std::max<std::size_t>(octets.size(), 1));
        if (place == nullptr) return copy;
        if (!octets.empty()) std::memcpy(place, octets.data(), octets.size());
        copy.data = place;
        copy.size = static_cast<std::uint32_t>(octets.size());
        return copy;
    }

    const Program& program_;
    const FieldCollector& collector_;
    Workspace& workspace_;
    bool flag_ = false;
};

bool Machine::test(const Instruction& step) {
    switch (step.op) {
        case Op::has_field: return !collector_.values(step.a).empty();
        case Op::has_values: return !at(step.a).empty();
        case Op::has_bits:
            return over_values(at(step.a), false, [&](const Operand& v) {
                return is_numeric(step.type) ? v.number != 0
                                             : v.octets().find_first_not_of('\0') != std::string_view::npos;
            });
        case Op::compare_field: return compare_field(step, collector_.values(step.a), program_.constants[step.b]);
        case Op::compare:
            return over_pairs(at(step.a), at(step.b), step.all, [&](const Operand& a, const Operand& b) {
                return holds(step.comparison, order(a, b, step.type));
            });
        case Op::contains:
            return over_pairs(at(step.a), at(step.b), step.all, [](const Operand& a, const Operand& b) {
                return a.octets().find(b.octets()) != std::string_view::npos;
            });
        case Op::matches:
            return over_values(at(step.a), step.all,
                               [&](const Operand& v) { return program_.expressions[step.b].search(v.octets()); });
        case Op::member:
            return over_values(at(step.a), step.all,
                               [&](const Operand& v) { return is_member(v, program_.sets[step.b], step.type); });
        case Op::negate: return !flag_;
        case Op::keep: workspace_.kept[step.a] = flag_ ? 1 : 0; return flag_;
        case Op::exclude: return flag_ != (workspace_.kept[step.a] != 0);
        default: return flag_;
    }
}

bool Machine::is_member(const Operand& value, const Set& set, Type type) const {
    for (const auto& element : set.constants)
        if (order(value, element.low, type) >= 0 && order(value, element.high, type) <= 0) return true;
    for (const auto& element : set.registers) {
        const auto above = [&](const Operand& low) { return order(value, low, type) >= 0; };
        const auto below = [&](const Operand& high) { return order(value, high, type) <= 0; };
        if (element.low == element.high) {
            if (over_values(at(element.low), false, [&](const Operand& v) { return above(v) && below(v); }))
                return true;
        } else if (over_values(at(element.low), false, above) && over_values(at(element.high), false, below)) {
            return true;
        }
    }
    return false;
}

void Machine::compute(const Instruction& step) {
    Values& into = at(step.a);
    switch (step.op) {
        case Op::load_field:
            into.clear();
            for (const auto& found : collector_.values(step.b))
                if (fits(found, step.type)) into.push_back(operand_of(found, step.type, step.whole));
            return;
        case Op::load_layers: return load_layers(step, into);
        case Op::load_constant: into.assign(1, program_.constants[step.b]); return;
        case Op::slice: return slice(into, program_.ranges[step.c]);
        case Op::negative:
            for (auto& value : into) value.number = -value.number;
            return;
        case Op::absolute:
            for (auto& value : into) value.number = value.number < 0 ? -value.number : value.number;
            return;
        case Op::length: return lengths(step, into);
        case Op::count: {
            Operand number;
            number.number = static_cast<Wide>(into.size());
            if (!into.empty()) into.assign(1, number);
            return;
        }
        case Op::upper: return change_case(into, true);
        case Op::lower: return change_case(into, false);
        case Op::string: return to_text(into, step.type);
        case Op::largest:
        case Op::smallest: return pick(step);
        default: return pairwise(step);
    }
}

void Machine::load_layers(const Instruction& step, Values& into) {
    into.clear();
    std::int64_t total = 0;
    for (const auto& found : collector_.values(step.b)) total = std::max<std::int64_t>(total, found.layer);
    for (const auto& found : collector_.values(step.b))
        if (fits(found, step.type) && in_layers(program_.ranges[step.c], found.layer, total))
            into.push_back(operand_of(found, step.type, step.whole));
}

void Machine::slice(Values& values, const std::vector<Range>& ranges) {
    const auto taken = std::remove_if(values.begin(), values.end(), [&](Operand& value) {
        const std::string_view whole = value.octets();
        value.prefix = Operand::no_prefix;
        if (ranges.size() == 1) {
            const std::string_view part = cut(whole, ranges[0]);
            value.data = part.data();
            value.size = static_cast<std::uint32_t>(part.size());
            return part.empty();
        }
        std::size_t size = 0;
        for (const auto& range : ranges) {
            const std::string_view part = cut(whole, range);
            if (part.empty()) return true;
            size += part.size();
        }
        char* place = workspace_.arena.allocate(size);
        if (place == nullptr) return true;
        value.data = place;
        value.size = static_cast<std::uint32_t>(size);
        for (const auto& range : ranges) {
            const std::string_view part = cut(whole, range);
            std::memcpy(place, part.data(), part.size());
            place += part.size();
        }
        return false;
    });
    values.erase(taken, values.end());
}

void Machine::pairwise(const Instruction& step) {
    Values& results = workspace_.spare;
    results.clear();
    for (const auto& a : at(step.b)) {
        for (const auto& b : at(step.c)) {
            if (results.size() == max_results) break;
            Operand result;
            if (!is_numeric(step.type)) {
                if (bit_and(a, b, result)) results.push_back(result);
            } else if (const auto number = reckon(step.op, a.number, b.number)) {
                result.number = *number;
                results.push_back(result);
            }
        }
    }
    at(step.a).swap(results);
}

bool Machine::bit_and(const Operand& a, const Operand& b, Operand& result) {
    const std::size_t size = std::min(a.size, b.size);
    char* place = workspace_.arena.allocate(std::max<std::size_t>(size, 1));
    if (place == nullptr) return false;
    for (std::size_t i = 0; i < size; ++i) place[i] = static_cast<char>(a.data[i] & b.data[i]);
    result.data = place;
    result.size = static_cast<std::uint32_t>(size);
    return true;
}

void Machine::pick(const Instruction& step) {
    const Operand* best = nullptr;
    const bool largest = step.op == Op::largest;
    for (std::uint32_t i = 0; i < step.c; ++i)
        for (const auto& value : at(step.b + i)) {
            if (best == nullptr || (largest ? order(value, *best, step.type) > 0 : order(value, *best, step.type) < 0))
                best = &value;
        }
    if (best == nullptr) return at(step.a).clear();
    const Operand picked = *best;
    at(step.a).assign(1, picked);
}

void Machine::lengths(const Instruction& step, Values& values) {
    for (auto& value : values) {
        value.number = is_numeric(step.type) ? Wide{step.c} : Wide{value.size};
        value.data = nullptr;
        value.size = 0;
    }
}

void Machine::change_case(Values& values, bool upper) {
    for (auto& value : values) {
        value = scratch(value.octets());
        // Bytes of the arena are ours to change.
        char* octets = const_cast<char*>(value.data);
        for (std::uint32_t i = 0; i < value.size; ++i) {
            char& c = octets[i];
            if (upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') c = static_cast<char>(c ^ 0x20);
        }
    }
}

void Machine::to_text(Values& values, Type type) {
    if (type == Type::text) return;
    for (auto& value : values) {
        TextBuffer buffer;
        if (type == Type::octets)
            value = hexadecimal(value.octets(), workspace_.arena);
        else
            value = scratch(text_of(value, type, buffer));
    }
}
}  // namespace

std::optional<Wide> reckon(Op op, Wide left, Wide right) {
    Wide result = 0;
    switch (op) {
        case Op::bit_and: return left & right;
        case Op::sum: return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional{result};
        case Op::difference: return __builtin_sub_overflow(left, right, &result) ? std::nullopt : std::optional{result};
        case Op::product: return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional{result};
        case Op::quotient:
        case Op::remainder:
            // The most negative number divided by -1 has no room either.
            if (right == 0 || (right == -1 && __builtin_sub_overflow(Wide{0}, left, &result))) return std::nullopt;
            return op == Op::quotient ? left / right : left % right;
        default: return std::nullopt;
    }
}

Workspace::Workspace(const Program& program) : registers(program.register_count), kept(program.kept_count) {}

bool evaluate(const Program& program, const FieldCollector& collector, Workspace& workspace) {
    workspace.arena.reset();
    return Machine{program, collector, workspace}.run();
}

}  // namespace dissect::filter
