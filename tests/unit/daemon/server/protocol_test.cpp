#include "control/protocol.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace service {
namespace {

using Json = nlohmann::json;

/// The refusal as a client reads it.
Json refused(const std::string& line) {
    const auto request = control::parse_request(line);
    EXPECT_FALSE(request.ok()) << line;
    if (request) return {};
    const std::string answer = control::refusal_line(request.error());
    EXPECT_EQ(answer.find('\n'), answer.size() - 1) << answer;
    const Json all = Json::parse(answer);
    EXPECT_EQ(all["ok"], false);
    EXPECT_EQ(all["version"], 1);
    return all;
}
std::string error_of(const std::string& line) { return refused(line)["error"]; }

TEST(Protocol, ARequestNeedsNothingButACommand) {
    const auto request = control::parse_request(R"({"command":"status"})");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->command, control::Command::status);
    EXPECT_EQ(request->id, "null");
}

TEST(Protocol, EveryCommandIsKnownByItsName) {
    ASSERT_EQ(control::command_texts().size(), 14U);
    for (std::size_t i = 0; i < control::command_texts().size(); ++i) {
        const std::string name(control::command_texts()[i].name);
        const auto request = control::parse_request(R"({"command":")" + name + R"(","id":1)" +
                                                    (name == "subscribe" ? R"(,"what":"why"})" : "}"));
        ASSERT_TRUE(request) << name;
        EXPECT_EQ(static_cast<std::size_t>(request->command), i) << name;
    }
}

TEST(Protocol, MembersAreTaken) {
    const auto flows = control::parse_request(
        R"({"version":1,"command":"flows","columns":["id","packets"],"sort":"-packets","limit":3,"flow":7,"max_age_ms":0})");
    ASSERT_TRUE(flows);
    EXPECT_EQ(flows->columns, (std::vector<std::string>{"id", "packets"}));
    EXPECT_EQ(flows->sort, "-packets");
    EXPECT_EQ(flows->limit, 3U);
    EXPECT_EQ(flows->flow, 7U);
    EXPECT_EQ(flows->max_age_ms, 0U);
    const auto subscribe = control::parse_request(R"({"command":"subscribe","what":"status","interval_ms":3600000})");
    ASSERT_TRUE(subscribe);
    EXPECT_EQ(subscribe->what, control::Topic::status);
    EXPECT_EQ(subscribe->interval_ms, 3'600'000U);
    const auto trigger = control::parse_request(R"({"command":"trigger","reason":"the \"disk\" is slow"})");
    ASSERT_TRUE(trigger);
    EXPECT_EQ(trigger->reason, "the \"disk\" is slow");
}

TEST(Protocol, TheIdComesBackWhateverItIs) {
    for (const char* id : {"7", "\"a\\u0000b\"", "[1,{\"b\":null}]", "1.5", "null", "true", "18446744073709551615"}) {
        const auto request = control::parse_request(std::string(R"({"command":"help","id":)") + id + "}");
        ASSERT_TRUE(request) << id;
        EXPECT_EQ(Json::parse(request->id), Json::parse(id));
        EXPECT_EQ(Json::parse(control::answer_line(request->id, "[]"))["id"], Json::parse(id));
        EXPECT_EQ(refused(std::string(R"({"command":"no","id":)") + id + "}")["id"], Json::parse(id));
    }
}

TEST(Protocol, WhatIsNoRequestIsToldWhere) {
    EXPECT_NE(error_of("status").find("byte 1 "), std::string::npos);
    EXPECT_NE(error_of(R"({"command":"status")").find("byte"), std::string::npos);
    EXPECT_NE(error_of("[]").find("no object"), std::string::npos);
    EXPECT_NE(error_of(R"({"command":7})").find("\"command\" is required"), std::string::npos);
    EXPECT_NE(error_of("{}").find("\"command\" is required"), std::string::npos);
    EXPECT_NE(error_of("{\"command\":\"status\",\"id\":\"\xff\"}").find("no JSON"), std::string::npos);
    EXPECT_NE(error_of(std::string("\0\1\2\xfe", 4)).find("no JSON"), std::string::npos);
    EXPECT_NE(error_of(R"({"id":1e999,"command":"help"})").find("no JSON"), std::string::npos);
}

TEST(Protocol, AVersionThatIsNotSpokenIsRefused) {
    EXPECT_NE(error_of(R"({"version":2,"command":"status"})").find("speaks version 1"), std::string::npos);
    EXPECT_NE(error_of(R"({"version":0,"command":"status"})").find("no such version"), std::string::npos);
    EXPECT_NE(error_of(R"({"version":"1","command":"status"})").find("no such version"), std::string::npos);
}

TEST(Protocol, ANameThatIsNoneIsAnsweredWithThoseThatAre) {
    const Json command = refused(R"({"command":"flow"})");
    EXPECT_NE(command["error"].get<std::string>().find("did you mean 'flows'?"), std::string::npos);
    EXPECT_EQ(command["known"].size(), 14U);
    const Json member = refused(R"({"command":"flows","colums":["id"]})");
    EXPECT_NE(member["error"].get<std::string>().find("did you mean 'columns'?"), std::string::npos);
    EXPECT_EQ(member["known"],
              Json::parse(R"(["version","id","command","columns","sort","limit","flow","max_age_ms"])"));
    EXPECT_NE(error_of(R"({"command":"status","limit":1})").find("status has no member"), std::string::npos);
}

TEST(Protocol, ValuesHaveBounds) {
    for (const char* members :
         {R"("columns":"id")", R"("columns":[])", R"("columns":[7])", R"("columns":[""])", R"("sort":1)",
          R"("limit":-1)", R"("limit":1.5)", R"("flow":"7")", R"("max_age_ms":60001)", R"("limit":null)"})
        EXPECT_NE(error_of(std::string(R"({"command":"flows",)") + members + "}").find(" is expected"),
                  std::string::npos)
            << members;
    for (const char* members : {R"("interval_ms":99)", R"("interval_ms":3600001)", R"("what":"top")", R"("what":3)"})
        EXPECT_NE(error_of(std::string(R"({"command":"subscribe",)") + members + "}").find(" is expected"),
                  std::string::npos)
            << members;
    EXPECT_NE(error_of(R"({"command":"subscribe"})").find("what: "), std::string::npos);
    EXPECT_NE(error_of(R"({"command":"trigger","reason":"two\nlines"})").find("one line"), std::string::npos);
    EXPECT_NE(error_of(R"({"command":"trigger","reason":")" + std::string(501, 'x') + "\"}").find("500 bytes"),
              std::string::npos);
    EXPECT_TRUE(control::parse_request(R"({"command":"trigger","reason":")" + std::string(500, 'x') + "\"}"));
}

TEST(Protocol, NestingHasABound) {
    const auto nested = [](std::size_t levels) {
        return R"({"command":"help","id":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
    };
    EXPECT_TRUE(control::parse_request(nested(31)));
    EXPECT_NE(error_of(nested(32)).find("nested deeper"), std::string::npos);
    EXPECT_NE(error_of(std::string(65'000, '[')).find("nested deeper"), std::string::npos);
    EXPECT_NE(error_of(std::string(65'000, '{')).find("nested deeper"), std::string::npos);
    // Brackets in text are no nesting.
    EXPECT_TRUE(control::parse_request(R"({"command":"help","id":"\")" + std::string(1000, '[') + "\"}"));
}

TEST(Protocol, LongWordsAreCutInErrors) {
    const std::string error = error_of(R"({"command":")" + std::string(60'000, 'x') + "\"}");
    EXPECT_LT(error.size(), 300U);
}

TEST(Protocol, OctetsThatAreNoUtf8AreReplaced) {
    EXPECT_EQ(Json::parse(control::json_text("a\xff")), Json::parse("\"a\\ufffd\""));
}

}  // namespace
}  // namespace service
