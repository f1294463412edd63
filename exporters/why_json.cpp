#include "exporters/why_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "exporters/json.h"
#include "metrics/answers/capture_notes.h"

namespace exporters {

namespace {

using Json = nlohmann::ordered_json;

/// Counts are whole numbers in JSON too.
Json value_of(double value) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (!std::isfinite(value)) return nullptr;
    if (value == std::floor(value) && std::abs(value) <= exact) return static_cast<std::int64_t>(value);
    return value;
}

/// As `flows --json` has it.
Json capture_of(const metrics::CaptureFigures& capture, bool crc_verified) {
    Context context;
    context.crc_verified = crc_verified;
    std::string text;
    append_json(text, capture, context);
    return Json::parse(text);
}

Json answer_of(const metrics::Answer& answer) {
    Json evidence = Json::array();
    for (const metrics::Evidence& each : answer.evidence)
        evidence.push_back({{"what", each.what},
                            {"value", value_of(each.value)},
                            {"unit", name_of(each.unit)},
                            {"frames", each.frames}});
    const bool seen = answer.vantage != metrics::Vantage::unknown;
    return {{"question", name_of(answer.question)},
            {"verdict", name_of(answer.verdict)},
            {"alarm", answer.alarm},
            {"grade", name_of(grade_of(answer))},
            {"cost", value_of(answer.alarm ? answer.cost.share : 0)},
            {"cost_of", answer.alarm ? Json(name_of(answer.cost.basis)) : Json(nullptr)},
            {"severity", value_of(answer.severity)},
            {"summary", answer.summary},
            {"confidence", value_of(answer.confidence)},
            {"vantage", seen ? Json(metrics::name_of(answer.vantage)) : Json(nullptr)},
            {"flows", answer.flows},
            {"evidence", std::move(evidence)},
            {"advice", answer.advice}};
}

}  // namespace

std::string why_json(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, bool crc_verified,
                     int indent) {
    Json list = Json::array();
    for (const metrics::Answer& answer : answers) list.push_back(answer_of(answer));
    Json notes = Json::array();
    for (const metrics::CaptureNote& note : metrics::capture_notes(snapshot))
        notes.push_back({{"kind", name_of(note.kind)}, {"text", note.text}, {"frames", note.frames}});
    const Json all{{"capture", capture_of(snapshot.capture, crc_verified)},
                   {"grade", name_of(metrics::grade_of(snapshot, answers))},
                   {"notes", std::move(notes)},
                   {"answers", std::move(list)}};
    // Names come from files that need not be UTF-8.
    return all.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace exporters
