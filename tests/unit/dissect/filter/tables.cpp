#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dissect/field_collector.h"
#include "dissect/filter/filter.h"
#include "dissect/registry.h"

/// The language over fields that no layer declares: a table's, with numbers written as its forms have them.
namespace {

using dissect::FieldOfTable;
using dissect::FieldRegistry;
using testing::ElementsAre;
using testing::HasSubstr;

/// Dozens: "2dz" is 24.
std::optional<std::uint64_t> dozens(std::string_view text) {
    if (text == "2dz") return 24;
    if (text == "7") return 7;
    return std::nullopt;
}
/// Halves, in parts of 10^-9.
std::optional<std::uint64_t> halves(std::string_view text) {
    if (text == "1/2" || text == "half") return 500'000'000;
    if (text == "1.5") return 1'500'000'000;
    return std::nullopt;
}
constexpr dissect::NumberForm dozen_form{dozens, "a number of dozens"};
constexpr dissect::NumberForm half_form{halves, "a number of halves"};

FieldOfTable row(std::string_view name, wire::Kind kind, const dissect::NumberForm* form = nullptr) {
    wire::FieldInfo info;
    info.name = name;
    info.label = name;
    info.kind = kind;
    return {info, form};
}

const std::array table{row("eggs", wire::Kind::uint64, &dozen_form), row("depth", wire::Kind::time, &half_form),
                       row("plain", wire::Kind::uint64), row("name", wire::Kind::string),
                       row("when", wire::Kind::time)};

class Tables : public testing::Test {
protected:
    FieldRegistry registry{table, "column"};
    dissect::FieldCollector collector{registry};

    std::string error_of(std::string_view expression) {
        const auto filter = dissect::filter::Filter::compile(expression, registry, collector);
        return filter ? "" : filter.error().message;
    }
    /// Over 24 eggs, a depth of 1.5, plain 7, "Bread", 1970 and three seconds.
    bool holds(std::string_view expression) {
        dissect::FieldCollector own{registry};
        auto filter = dissect::filter::Filter::compile(expression, registry, own);
        if (!filter) {
            ADD_FAILURE() << filter.error().text();
            return false;
        }
        own.begin_frame({});
        own.field(table[0].info, {24, {}, {}}, {});
        own.field(table[1].info, {1'500'000'000, {}, {}}, {});
        own.field(table[2].info, {7, {}, {}}, {});
        own.field(table[3].info, {0, {}, "Bread"}, {});
        own.field(table[4].info, {3'000'000'000, {}, {}}, {});
        return filter->matches(own);
    }
};

TEST_F(Tables, fields_are_those_of_the_table) {
    ASSERT_EQ(registry.fields().size(), 5U);
    EXPECT_EQ(registry.find("eggs")->form, &dozen_form);
    EXPECT_EQ(registry.find("plain")->form, nullptr);
    EXPECT_EQ(registry.find("infiniband.bth.opcode"), nullptr);
    EXPECT_TRUE(registry.protocols().empty());
    EXPECT_THAT(registry.similar("egs", 1), ElementsAre("eggs"));
}

TEST_F(Tables, numbers_are_read_as_the_form_has_them) {
    EXPECT_TRUE(holds("eggs == 2dz"));
    EXPECT_TRUE(holds("2dz == eggs"));
    EXPECT_TRUE(holds("eggs in {7, 2dz}"));
    EXPECT_FALSE(holds("eggs < 2dz"));
    EXPECT_TRUE(holds("eggs > plain"));
    EXPECT_TRUE(holds("eggs == plain * 3 + 3"));
    EXPECT_EQ(error_of("eggs == 24"), "\"24\" is not a number of dozens");
    EXPECT_EQ(error_of("plain == 2dz"), "\"2dz\" is not a number of at most 64 bits");
}

TEST_F(Tables, numbers_with_decimals) {
    EXPECT_TRUE(holds("depth > half"));
    EXPECT_TRUE(holds("depth == 1.5"));
    EXPECT_TRUE(holds("depth == 1.25 + 0.25"));
    EXPECT_TRUE(holds("string(depth) == \"1.500000000\""));
    EXPECT_TRUE(holds("depth"));
    EXPECT_THAT(error_of("depth > plain"), HasSubstr("depth is a number with decimals and plain is a number"));
    EXPECT_THAT(error_of("depth > when"), HasSubstr("cannot be compared"));
    EXPECT_THAT(error_of("depth * 2 > half"), HasSubstr("which arithmetic does not take"));
    EXPECT_THAT(error_of("depth + when > half"), HasSubstr("does not take a number with decimals and a time together"));
    EXPECT_EQ(error_of("depth > soon"), "\"soon\" is not a number of halves");
    EXPECT_TRUE(holds("when == 3.0")) << "a time without a form stays one";
}

TEST_F(Tables, errors_call_a_field_what_the_table_does) { EXPECT_EQ(error_of("egs > 7"), "egs is not a known column"); }

TEST_F(Tables, a_percentage_is_one_word_and_a_remainder_is_none) {
    EXPECT_EQ(error_of("eggs > 5%"), "\"5%\" is not a number of dozens");
    EXPECT_EQ(error_of("eggs > 5.5% && plain"), "\"5.5%\" is not a number of dozens");
    EXPECT_EQ(error_of("(eggs > 5%)"), "\"5%\" is not a number of dozens");
    EXPECT_EQ(error_of("eggs > 5% or plain"), "\"5%\" is not a number of dozens");
    EXPECT_TRUE(holds("plain == 31 % 8"));
    EXPECT_TRUE(holds("plain == 31% 8"));
    EXPECT_TRUE(holds("plain == 31%8"));
    EXPECT_TRUE(holds("plain % 4 == 3"));
    EXPECT_TRUE(holds("plain == 31 %(4+4)"));
    EXPECT_TRUE(holds("plain == 31%(4+4)"));
    EXPECT_TRUE(holds("3 == 31% plain"));
}

}  // namespace
