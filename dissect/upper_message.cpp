#include "dissect/upper_message.h"

namespace dissect {

std::string_view name_of(CommandRole role) {
    switch (role) {
        case CommandRole::none: return {};
        case CommandRole::request: return "request";
        case CommandRole::data_out: return "data_out";
        case CommandRole::data_in: return "data_in";
        case CommandRole::response: return "response";
        case CommandRole::interim: return "interim";
    }
    return {};
}

}  // namespace dissect
