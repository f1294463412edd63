#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace base {

/// Whether an option has a value, and where the value may stand.
enum class OptionValue : std::uint8_t {
    none,
    required,       ///< `-n5`, `-n 5`, `--name=5`, `--name 5`
    optional,       ///< `--name` or `--name=5`; only options without a letter
    optional_path,  ///< as `optional`, and a next word that begins with `/` or `.` is the value too
};

/// One option as it is typed.
struct OptionSyntax {
    char letter = 0;                  ///< 0: only a long name
    std::string_view long_name = {};  ///< empty: only a letter
    OptionValue value = OptionValue::none;
    std::string_view value_name = {};  ///< what messages call the value: `FILE`
};

/// The spelling in messages: `-c`, or `--count` if there is no letter.
std::string spelling(const OptionSyntax& option);

struct ParsingRules {
    /// The first operand ends the options: the rest is the command line of another program.
    bool operands_end_options = false;
    /// A prefix of exactly one long name stands for that name.
    bool abbreviations = true;
};

/// Why a word is not an option of the table, or lacks its value.
struct OptionError {
    std::string message;
    /// The option as it was typed, without a value; no value if the table has the option.
    std::optional<std::string> unknown = {};
};

/// Reads a command line by the rules of getopt_long(3): letters in clusters (`-nvr FILE`), options before and after
/// operands, `--` before operands that begin with a dash, and `-` alone as an operand.
class OptionParser {
public:
    struct Found {
        std::size_t index = 0;  ///< of the option, in the table
        std::string value = {};
    };
    /// One of the two is set; neither at the end.
    struct Step {
        std::optional<Found> found = {};
        std::optional<OptionError> error = {};
    };

    OptionParser(std::span<const OptionSyntax> options, std::vector<std::string> words, ParsingRules rules = {})
        : options_(options.begin(), options.end()), words_(std::move(words)), rules_(rules) {}

    Step next();
    /// The words that are not options. Complete after the last step.
    const std::vector<std::string>& operands() const { return operands_; }

private:
    Step next_letter();
    Step long_option(const std::string& word);
    Step with_value(std::size_t index, const std::string& given);
    std::optional<std::size_t> find_letter(char letter) const;
    std::vector<std::size_t> find_long_names(std::string_view name) const;
    OptionError unknown(const std::string& given, const std::vector<std::size_t>& candidates) const;

    std::vector<OptionSyntax> options_;
    std::vector<std::string> words_;
    ParsingRules rules_;
    std::size_t next_word_ = 0;
    std::string cluster_ = {};  ///< letters of the present word that have not been read
    bool options_ended_ = false;
    std::vector<std::string> operands_ = {};
};

}  // namespace base
