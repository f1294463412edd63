#pragma once
#include <getopt.h>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// One option as it is typed and as it is explained.
struct OptionText {
    char letter;                 ///< 0 where there is only a long name
    std::string_view long_name;  ///< empty where there is only a letter
    /// Empty for a flag. `[LIST]`, of one without a letter: behind `=`, or nothing; `[SOCKET]`: a path may also be a
    /// word of its own.
    std::string_view argument;
    std::string_view help;
};

/// As a message names it: `-c`, or `--count` where there is no letter.
std::string spelling(const OptionText& option);
/// Appends what `help` prints of an option: how it is typed, and beside it what it does.
void append_help(std::string& out, const OptionText& option);

/// getopt_long(3) over a command's options. One at a time.
class OptionScanner {
public:
    struct Found {
        int index = -1;  ///< of the option; -1 at the end and on an error
        std::string value = {};
        std::string error = {};
    };

    /// Whether options may stand behind words; `first`: what begins with the first word is not looked at.
    enum class Order : bool { any, first };

    /// `elsewhere` may tell where a user of another program should look for a letter; it begins with a semicolon.
    OptionScanner(std::vector<OptionText> options, const std::vector<std::string>& arguments,
                  std::string_view (*elsewhere)(char letter) = nullptr, Order order = Order::any);

    Found next();
    /// What is left once next() has come to the end: the words of the expression.
    std::string rest() const;
    /// The same, word by word.
    std::vector<std::string> words() const;

private:
    int count() const { return static_cast<int>(argv_.size()) - 1; }
    int index_of(int answer) const;
    std::string given(int before) const;
    std::string wanted() const;
    std::string unknown(int before) const;

    std::vector<OptionText> options_;
    std::vector<std::string> words_;
    std::string_view (*elsewhere_)(char letter);
    std::vector<char*> argv_ = {};
    std::string letters_;
    std::vector<option> longs_ = {};
};

}  // namespace cli
