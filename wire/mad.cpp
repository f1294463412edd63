#include "wire/mad.h"

#include "wire/mad_attributes.h"

namespace wire {

namespace {

constexpr ValueName common_statuses[] = {
    {1, "version of the class not supported"},
    {2, "method not supported"},
    {3, "attribute not supported with this method"},
    {7, "a value is not valid"},
};
constexpr ValueName administration_statuses[] = {
    {1, "no resources"},
    {2, "request not valid"},
    {3, "no records"},
    {4, "too many records"},
    {5, "GID not valid"},
    {6, "components missing"},
    {7, "denied"},
    {8, "priority suggested"},
};

}  // namespace

std::string_view mad_attribute_name(std::uint8_t management_class, std::uint16_t attribute) {
    const mad::Attribute* const known = mad::find_attribute(management_class, attribute);
    return known == nullptr ? std::string_view{} : known->name;
}

std::string_view mad_status_text(std::uint8_t management_class, std::uint16_t status) {
    constexpr unsigned busy = 1;
    constexpr unsigned redirected = 2;
    const unsigned code = status >> 2 & 7;
    const unsigned of_class = status >> 8 & 0x7f;
    if (code != 0) {
        const std::string_view text = name_of(common_statuses, code);
        return text.empty() ? "unknown status" : text;
    }
    if (of_class != 0) {
        const std::string_view text =
            management_class == subnet_administration ? name_of(administration_statuses, of_class) : std::string_view{};
        return text.empty() ? "failed for a reason of its class" : text;
    }
    if ((status & busy) != 0) return "busy";
    if ((status & redirected) != 0) return "ask elsewhere";
    return {};
}

}  // namespace wire
