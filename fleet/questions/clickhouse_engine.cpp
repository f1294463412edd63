#include "fleet/questions/clickhouse_engine.h"

#include <charconv>
#include <fmt/core.h>
#include <string_view>

namespace fleet::questions {
namespace {

/// A cell of the format TabSeparated: \t, \n, \\, \0 and the like stand for bytes.
std::string unescaped(std::string_view cell) {
    std::string out;
    for (std::size_t i = 0; i < cell.size(); ++i) {
        if (cell[i] != '\\' || i + 1 == cell.size()) {
            out += cell[i];
            continue;
        }
        switch (const char next = cell[++i]) {
            case 't': out += '\t'; break;
            case 'n': out += '\n'; break;
            case 'r': out += '\r'; break;
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case '0': out += '\0'; break;
            default: out += next;
        }
    }
    return out;
}

template <class Number>
Number parsed(const std::string& text) {
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

base::Result<Rows> Engine::ask(const std::string& query, std::size_t columns) {
    auto answer = client_.query(query + " FORMAT TabSeparated");
    if (!answer) return base::Failure{answer.error()};
    Rows rows;
    std::string_view rest = answer.value();
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() && columns > 1) continue;  // before the totals
        std::vector<std::string>& cells = rows.emplace_back();
        for (;;) {
            const std::size_t tab = line.find('\t');
            cells.push_back(unescaped(line.substr(0, tab)));
            if (tab == std::string_view::npos) break;
            line.remove_prefix(tab + 1);
        }
        if (cells.size() != columns)
            return base::failure(fmt::format("the answer has {} columns, {} were expected: the engine's error may be "
                                             "in it: {}",
                                             cells.size(), columns, cells.front().substr(0, 200)),
                                 client_.access().url);
    }
    return rows;
}

std::uint64_t number_of(const std::string& text) { return parsed<std::uint64_t>(text); }
std::int64_t signed_of(const std::string& text) { return parsed<std::int64_t>(text); }
double decimal_of(const std::string& text) { return parsed<double>(text); }

std::vector<std::int64_t> list_of(const std::string& text) {
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::int64_t number = 0;
        const auto [stop, code] = std::from_chars(at, end, number);
        if (code == std::errc{}) numbers.push_back(number);
        at = stop == at ? at + 1 : stop;
    }
    return numbers;
}

rows::Cell cell_of(const std::string& text, rows::Type type) {
    switch (type) {
        case rows::Type::text:
        case rows::Type::label: return text;
        case rows::Type::i64: return signed_of(text);
        case rows::Type::f64: return decimal_of(text);
        default: return number_of(text);
    }
}

}  // namespace fleet::questions
