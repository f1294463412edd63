/// The names of addresses as commands show them: of a file, of the capture, of neither.
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/analysis/session.h"

namespace {

using cli::analysis::Names;
using metrics::Address;
using metrics::AddressName;

Address lid_of(std::uint8_t lid) {
    Address address;
    address.family = wire::AddressFamily::lid;
    address.octets[1] = lid;
    return address;
}

/// A file that ends with the test.
class NameFile {
public:
    explicit NameFile(std::string_view text) {
        const int file = ::mkstemp(path_.data());
        EXPECT_GE(file, 0);
        ::close(file);
        std::ofstream(path_) << text;
    }
    ~NameFile() { ::unlink(path_.c_str()); }
    const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/rdmascope-names-XXXXXX";
};

TEST(SubnetNameTable, a_name_comes_with_its_lid) {
    Names names(true);
    EXPECT_EQ(names.name(lid_of(4)), "");
    EXPECT_EQ(names.text(lid_of(4)), "lid 4");
    names.learn(std::vector<AddressName>{{lid_of(4), 0x0002c90300a1b2c3, "host01 mlx5_0"}});
    EXPECT_EQ(names.name(lid_of(4)), "host01 mlx5_0");
    EXPECT_EQ(names.text(lid_of(4)), "host01 mlx5_0 (lid 4)");
    EXPECT_EQ(metrics::address_text(lid_of(4), &names), "host01 mlx5_0 (lid 4)");
    EXPECT_EQ(metrics::address_text(lid_of(4), nullptr), "lid 4");
    names.learn(std::vector<AddressName>{{lid_of(4), 0x0002c90300a1b2c4, ""}});
    EXPECT_EQ(names.text(lid_of(4)), "0x0002c90300a1b2c4 (lid 4)");
}

TEST(SubnetNameTable, numbers_where_they_are_asked_for) {
    Names names(false);
    names.learn(std::vector<AddressName>{{lid_of(4), 0, "host01"}});
    EXPECT_EQ(names.text(lid_of(4)), "lid 4");
}

TEST(SubnetNameTable, a_file_is_believed_before_the_capture) {
    const NameFile file("0x0002c90300a1b2c3 \"rack 7\" # by GUID\n\nlid 5 \"spine\x1b[31m\"\n");
    Names names(true, file.path());
    ASSERT_TRUE(names.errors().empty());
    names.learn(std::vector<AddressName>{{lid_of(4), 0x0002c90300a1b2c3, "host01"}, {lid_of(5), 0, "host02"}});
    EXPECT_EQ(names.name(lid_of(4)), "rack 7");
    EXPECT_EQ(names.name(lid_of(5)), "spine\\x1b[31m");
}

TEST(SubnetNameTable, a_file_of_fabric_has_lids_and_guids) {
    // The members that `fabric --json` prints of a node and its port; docs/fabric.md.
    const NameFile file(R"({"time_ns": 0, "adapter": "", "seen_from": null, "sm": [], "links": [], "unanswered": [],
        "nodes": [{"guid": "0x0002c90300a1b2c3", "type": "adapter", "name": "host01", "description": "host01 mlx5_0",
        "lid": 4, "system_guid": "0x0002c90300a1b2c3", "vendor": 713, "device": 4119, "port_count": 1,
        "ports": [{"number": 1, "guid": "0x0002c90300a1b2c4", "lid": 4, "lmc": 1, "sm_lid": 1,
        "gid_prefix": "0xfe80000000000000", "state": "active", "physical_state": "link_up", "width": "4X",
        "speed": "EDR", "widths_supported": ["4X"], "widths_enabled": ["4X"], "speeds_supported": ["EDR"],
        "speeds_enabled": ["EDR"], "runs_sm": false, "m_key_violations": 0, "p_key_violations": 0,
        "q_key_violations": 0}]}]})");
    Names names(true, file.path());
    ASSERT_TRUE(names.errors().empty()) << names.errors().front().text();
    EXPECT_EQ(names.text(lid_of(4)), "host01 mlx5_0 (lid 4)");
    EXPECT_EQ(names.text(lid_of(5)), "host01 mlx5_0 (lid 5)");  // LMC 1
    names.learn(std::vector<AddressName>{{lid_of(9), 0x0002c90300a1b2c3, "other"}});
    EXPECT_EQ(names.text(lid_of(9)), "host01 mlx5_0 (lid 9)");
}

TEST(SubnetNameTable, a_file_that_cannot_be_read) {
    EXPECT_EQ(Names(true, "/nonexistent/names").errors().size(), 1u);
    const NameFile file("lid 0 \"x\"\nlid 5 x\nlid 70000 \"x\"\n0x1 \"ok\"\n");
    EXPECT_EQ(Names(true, file.path()).errors().size(), 3u);
}

}  // namespace
