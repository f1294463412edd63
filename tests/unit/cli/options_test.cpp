// Expected readings are those of tcpdump 4.99 and tshark 4.0, whose letters these are.
#include "cli/dump/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>
#include <set>

namespace cli::dump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DumpOptions parsed(std::vector<std::string> arguments) {
    auto result = parse_options(arguments);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? *result : DumpOptions{};
}

std::string refused(std::vector<std::string> arguments) {
    auto result = parse_options(arguments);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string{} : result.error().message;
}

TEST(DumpOptions, bundles_letters_and_takes_the_last_ones_value) {
    const DumpOptions o = parsed({"-nnvvXr", "file.pcap"});
    EXPECT_EQ(o.read_path, "file.pcap");
    EXPECT_FALSE(o.names);
    EXPECT_EQ(o.verbosity, 2U);
    EXPECT_EQ(o.octets, Octets::hex_ascii);
    EXPECT_FALSE(o.octets_of_link);
}

TEST(DumpOptions, takes_a_value_joined_apart_or_after_an_equals_sign) {
    EXPECT_EQ(parsed({"-c5", "-rx"}).max_packets, 5U);
    EXPECT_EQ(parsed({"-c", "5", "-r", "x"}).max_packets, 5U);
    EXPECT_EQ(parsed({"--interface=eth0"}).interfaces, std::vector<std::string>{"eth0"});
    EXPECT_EQ(parsed({"--snapshot-length", "96", "-rx"}).snaplen, 96U);
}

TEST(DumpOptions, a_dash_is_a_value) {
    const DumpOptions o = parsed({"-r", "-", "-w", "-"});
    EXPECT_EQ(o.read_path, "-");
    EXPECT_EQ(o.write_path, "-");
    EXPECT_EQ(parsed({"-nr-"}).read_path, "-");
}

TEST(DumpOptions, the_rest_of_the_line_is_the_expression_wherever_options_stand) {
    EXPECT_EQ(parsed({"-rx", "udp", "port", "4791"}).expression, "udp port 4791");
    EXPECT_EQ(parsed({"udp", "port", "4791", "-rx", "-n"}).expression, "udp port 4791");
    EXPECT_EQ(parsed({"-rx", "udp port 4791 and host 10.0.0.1"}).expression, "udp port 4791 and host 10.0.0.1");
    EXPECT_EQ(parsed({"-rx", "--", "-1 = len"}).expression, "-1 = len");
}

TEST(DumpOptions, a_file_of_F_goes_before_words_as_in_tcpdump) {
    const DumpOptions o = parsed({"-rx", "-F", "expression.txt", "tcp"});
    EXPECT_EQ(o.expression_path, "expression.txt");
    EXPECT_EQ(o.expression, "");
}

TEST(DumpOptions, e_is_a_flag_in_text_and_takes_a_field_with_T) {
    const DumpOptions text = parsed({"-e", "-rx", "tcp"});
    EXPECT_TRUE(text.link_header);
    EXPECT_EQ(text.expression, "tcp");
    EXPECT_TRUE(parsed({"-nerx"}).link_header);

    const DumpOptions fields = parsed({"-rx", "-T", "fields", "-e", "frame.number", "-eip.src", "tcp"});
    EXPECT_FALSE(fields.link_header);
    EXPECT_THAT(fields.fields, ElementsAre("frame.number", "ip.src"));
    EXPECT_EQ(fields.expression, "tcp");

    EXPECT_THAT(parsed({"-e", "ip.src", "-rx", "-Tjson"}).fields, ElementsAre("ip.src"));
    EXPECT_THAT(parsed({"-nTek", "-e", "ip.src", "-rx"}).fields, ElementsAre("ip.src"));
    EXPECT_TRUE(parsed({"-T", "text", "-e", "-rx"}).link_header);
    EXPECT_FALSE(wants_fields({"-T", "fields", "-T", "text"}));  // the last one counts
}

TEST(DumpOptions, G_is_seconds_or_a_listing) {
    EXPECT_EQ(parsed({"-G", "fields"}).listing, Listing::fields);
    EXPECT_EQ(parsed({"-i", "lo", "-w", "x", "-G", "60"}).rotate_seconds, 60U);
    EXPECT_THAT(refused({"-G", "protocols"}), HasSubstr("a number of seconds, or `fields`"));
    EXPECT_THAT(refused({"-i", "lo", "-w", "x", "-G", "0"}), HasSubstr("-G 0"));
}

TEST(DumpOptions, counts_letters) {
    EXPECT_EQ(parsed({"-rx", "-t"}).time_style, TimeStyle::none);
    EXPECT_EQ(parsed({"-rx", "-tt"}).time_style, TimeStyle::seconds);
    EXPECT_EQ(parsed({"-rx", "-ttt"}).time_style, TimeStyle::since_previous);
    EXPECT_EQ(parsed({"-rx", "-tttt"}).time_style, TimeStyle::date);
    EXPECT_EQ(parsed({"-rx", "-tt", "-ttt"}).time_style, TimeStyle::since_first);
    EXPECT_THAT(refused({"-rx", "-tttttt"}), HasSubstr("-ttttt"));
    EXPECT_EQ(parsed({"-rx"}).time_style, TimeStyle::time_of_day);
    EXPECT_TRUE(parsed({"-rx", "-xx"}).octets_of_link);
    EXPECT_TRUE(parsed({"-rx", "-XX"}).octets_of_link);
    EXPECT_FALSE(parsed({"-rx", "-x"}).octets_of_link);
    EXPECT_EQ(parsed({"-ddd", "tcp"}).code_form, 3U);
    EXPECT_EQ(parsed({"-rx", "-vvv"}).verbosity, 3U);
}

TEST(DumpOptions, several_interfaces_but_one_file) {
    EXPECT_THAT(parsed({"-i", "eth0", "-ieth1"}).interfaces, ElementsAre("eth0", "eth1"));
    EXPECT_THAT(refused({"-r", "a", "-r", "b"}), HasSubstr("mergecap"));
    EXPECT_THAT(refused({"-r", "a", "-i", "lo"}), HasSubstr("one or the other"));
}

TEST(DumpOptions, the_form_of_fields) {
    const DumpOptions o = parsed({"-rx", "-Tfields", "-eip.src", "-Eheader=y", "-E", "separator=,", "-Eoccurrence=f",
                                  "-Equote=d", "-Eaggregator=/s", "-Ebom=y"});
    EXPECT_TRUE(o.fields_format.header);
    EXPECT_TRUE(o.fields_format.bom);
    EXPECT_EQ(o.fields_format.separator, ',');
    EXPECT_EQ(o.fields_format.occurrence, 'f');
    EXPECT_EQ(o.fields_format.quote, '"');
    EXPECT_EQ(o.fields_format.aggregator, ' ');
    EXPECT_EQ(parsed({"-rx", "-Tfields", "-eip.src"}).fields_format.separator, '\t');
    EXPECT_THAT(refused({"-rx", "-Tfields", "-eip.src", "-Ewidth=3"}), HasSubstr("header, separator"));
    EXPECT_THAT(refused({"-rx", "-Tfields", "-eip.src", "-Eheader"}), HasSubstr("KEY=VALUE"));
    EXPECT_THAT(refused({"-rx", "-Eheader=y"}), HasSubstr("-T fields"));
    EXPECT_THAT(refused({"-rx", "-Tfields"}), HasSubstr("-e FIELD"));
}

TEST(DumpOptions, V_is_tsharks_tree) {
    EXPECT_EQ(parsed({"-Vrx"}).form, Form::tree);
    EXPECT_EQ(parsed({"-rx", "-V", "-T", "text"}).form, Form::tree);
    EXPECT_EQ(parsed({"-rx", "-V", "-T", "json"}).form, Form::json);
}

TEST(DumpOptions, sizes_are_tcpdumps_millions) {
    EXPECT_EQ(parsed({"-ilo", "-wx", "-C", "2"}).rotate_octets, 2'000'000U);
    EXPECT_EQ(parsed({"-ilo", "-wx", "-C", "2k"}).rotate_octets, 2048U);
    EXPECT_THAT(refused({"-ilo", "-wx", "-C", "much"}), HasSubstr("-C much"));
}

TEST(DumpOptions, a_snapshot_length_of_0_is_the_default) {
    EXPECT_EQ(parsed({"-ilo", "-s", "0"}).snaplen, 262'144U);
    EXPECT_THAT(refused({"-ilo", "-s", "262145"}), HasSubstr("0 to 262144"));
}

TEST(DumpOptions, says_which_number_is_wrong) {
    EXPECT_EQ(refused({"-rx", "-c", "0"}), "-c 0: a number from 1 to 9223372036854775807 is expected");
    EXPECT_THAT(refused({"-rx", "-c", "-1"}), HasSubstr("-c -1"));
    EXPECT_THAT(refused({"-rx", "-c", "99999999999999999999"}), HasSubstr("-c 9999"));
    EXPECT_THAT(refused({"-rx", "-c", "5x"}), HasSubstr("-c 5x"));
    EXPECT_THAT(refused({"-rx", "-c", ""}), HasSubstr("-c ''"));
}

TEST(DumpOptions, says_what_is_unknown_and_what_may_be_meant) {
    EXPECT_EQ(refused({"-rx", "--colour=always"}), "there is no option --colour, did you mean '--color'?");
    EXPECT_EQ(refused({"--snapshot-lenght", "96"}),
              "there is no option --snapshot-lenght, did you mean '--snapshot-length'?");
    EXPECT_EQ(refused({"-k"}), "there is no option -k");
    EXPECT_EQ(refused({"-nk"}), "there is no option -k");
    EXPECT_EQ(refused({"-c"}), "-c needs a value: COUNT");
    EXPECT_EQ(refused({"-rx", "--color"}), "--color needs a value: auto|never|always");
    EXPECT_EQ(refused({"-rx", "--print=yes"}), "--print takes no value");
    EXPECT_THAT(refused({"-rx", "--color=red"}), HasSubstr("--color red: auto, never or always"));
    EXPECT_THAT(refused({"-rx", "-T", "xml"}), HasSubstr("text, fields, json or ek"));
    EXPECT_THAT(refused({"-ilo", "-Q", "up"}), HasSubstr("in, out or inout"));
}

TEST(DumpOptions, what_saves_needs_a_file) {
    EXPECT_THAT(refused({"-rx", "-C", "1"}), HasSubstr("-w FILE"));
    EXPECT_THAT(refused({"-rx", "-G", "1"}), HasSubstr("-w FILE"));
    EXPECT_THAT(refused({"-rx", "-wy", "-W", "2"}), HasSubstr("-C or -G"));
    EXPECT_THAT(refused({"-rx", "-wy", "-z", "gzip"}), HasSubstr("-C or -G"));
    EXPECT_THAT(refused({"-rx", "-w-", "-C", "1"}), HasSubstr("several files"));
    EXPECT_THAT(refused({"-rx", "-w-", "--print"}), HasSubstr("standard output"));
}

TEST(DumpOptions, prints_unless_it_saves_or_counts) {
    EXPECT_TRUE(parsed({"-rx"}).prints());
    EXPECT_FALSE(parsed({"-rx", "-wy"}).prints());
    EXPECT_TRUE(parsed({"-rx", "-wy", "--print"}).prints());
    EXPECT_FALSE(parsed({"-rx", "--count"}).prints());
}

TEST(DumpOptions, help_and_version_go_before_contradictions) {
    EXPECT_EQ(parsed({"--help"}).listing, Listing::help);
    EXPECT_EQ(parsed({"-h", "-Tfields"}).listing, Listing::help);
    EXPECT_EQ(parsed({"--version"}).listing, Listing::version);
    EXPECT_EQ(parsed({"-D"}).listing, Listing::interfaces);
}

TEST(DumpOptions, can_be_read_twice) {
    EXPECT_EQ(parsed({"-nr", "a"}).read_path, "a");
    EXPECT_EQ(parsed({"-nr", "b"}).read_path, "b");
    refused({"-nk", "-r", "b"});
    EXPECT_EQ(parsed({"-vvr", "c"}).verbosity, 2U);
}

TEST(OptionTable, no_letter_and_no_name_twice) {
    std::set<char> letters;
    std::set<std::string_view> names;
    for (const auto& [text, section] : listed_options()) {
        EXPECT_TRUE(text.letter != 0 || !text.long_name.empty());
        EXPECT_TRUE(text.letter == 0 || letters.insert(text.letter).second) << text.letter;
        EXPECT_TRUE(text.long_name.empty() || names.insert(text.long_name).second) << text.long_name;
    }
}

TEST(OptionTable, help_names_every_option_and_fits_a_terminal) {
    const std::string help = help_text();
    for (const auto& [text, section] : listed_options()) EXPECT_THAT(help, HasSubstr(spelling(text)));
    std::size_t begin = 0;
    for (std::size_t end = help.find('\n'); end != std::string::npos; begin = end + 1, end = help.find('\n', begin))
        EXPECT_LE(end - begin, 100U) << help.substr(begin, end - begin);
}

}  // namespace
}  // namespace cli::dump
