/// Fuzz target `control_line`: what a client of the daemon sends, through the protocol to the commands of a fake.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "daemon/server/answers.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"
#include "tests/unit/daemon/server/fake.h"

namespace {

/// All of an answer, made in pieces as small as can be.
std::string whole(service::Body& body) {
    std::string text;
    while (body.produce(text, 1)) {
    }
    return text;
}

void check_line(const std::string& text, const std::string& id) {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) fuzz::violated("an answer is a line");
    const auto line = nlohmann::json::parse(text.substr(0, end), nullptr, false);
    if (!line.is_object() || !line["ok"].is_boolean()) fuzz::violated("an answer says whether it is one");
    if (line["id"] != nlohmann::json::parse(id)) fuzz::violated("an answer has its request's id");
    if (line["ok"] == false && line["error"].get<std::string>().empty()) fuzz::violated("a refusal has a reason");
    if (line.contains("encoding") && line["encoding"] == "pcapng") return;  // up to the end of the connection
    const std::size_t behind = line.contains("octets") ? line["octets"].get<std::size_t>() : 0;
    if (text.size() != end + 1 + behind) fuzz::violated("behind an answer there is what it announced");
}

void take(std::string_view line, service::Answers& answers) {
    const auto request = control::parse_request(line);
    if (!request) return check_line(control::refusal_line(request.error()), request.error().id);
    if (request->command == control::Command::unsubscribe) return;
    if (request->command != control::Command::subscribe)
        return check_line(whole(*answers.answer(*request, {}).body), request->id);
    if (const auto possible = service::Answers::check_subscription(*request); !possible) {
        if (possible.error().text().empty()) fuzz::violated("a refusal has a reason");
        return;
    }
    service::Subscription subscription;
    subscription.request = *request;
    answers.begin(subscription);
    for (int i = 0; i < 2; ++i) check_line(whole(*answers.update(subscription, {})), request->id);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    service::test::Fake fake;
    fake.packets_a_step = 1;
    fake.pieces = {"one", "two"};
    service::Answers answers(fake);
    std::string_view input(reinterpret_cast<const char*>(data), size);
    while (!input.empty()) {
        const std::size_t end = std::min(input.find('\n'), input.size());
        take(input.substr(0, end), answers);
        input.remove_prefix(std::min(end + 1, input.size()));
    }
    return 0;
}
