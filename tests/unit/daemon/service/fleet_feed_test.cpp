#include "daemon/fleet_feed.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace service {
namespace {

using testing::HasSubstr;

class PasswordFile : public testing::Test {
protected:
    PasswordFile() { config_.url = "http://127.0.0.1:8123"; }
    ~PasswordFile() override {
        std::error_code gone;
        std::filesystem::remove(path_, gone);
    }
    base::Result<std::string> read(const std::string& text, mode_t mode = 0600) {
        std::ofstream(path_, std::ios::trunc) << text;
        EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
        config_.password_file = path_;
        return read_clickhouse_password(config_);
    }
    ClickHouseConfig config_ = {};

private:
    std::string path_ = testing::TempDir() + "clickhouse-password-" + std::to_string(::getpid());
};

TEST_F(PasswordFile, has_the_password_in_its_first_line) {
    EXPECT_EQ(read_clickhouse_password(config_).value(), "");
    EXPECT_EQ(read("a secret \r\nnotes\n").value(), "a secret");
    EXPECT_EQ(read("a secret", 0640).value(), "a secret");
}

TEST_F(PasswordFile, that_others_can_read_or_without_a_password_is_refused_without_its_text) {
    const auto open = read("secret\n", 0644);
    ASSERT_FALSE(open);
    EXPECT_THAT(open.error().text(), HasSubstr("every user can read it"));
    EXPECT_THAT(open.error().text(), testing::Not(HasSubstr("secret")));
    for (const char* empty : {"", "\n", "  \nsecret\n"}) EXPECT_FALSE(read(empty)) << empty;
    config_.password_file = "/nowhere/password";
    EXPECT_FALSE(read_clickhouse_password(config_));
}

}  // namespace
}  // namespace service
