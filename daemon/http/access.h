#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "daemon/http/http_message.h"

namespace service::http {

/// Who may see the page and its figures: hosts that send the token, or this machine alone if there is no token.
class Access {
public:
    Access(std::string token, bool permits_writes) : token_(std::move(token)), permits_writes_(permits_writes) {}

    /// The answer to a request that is not permitted; no value if it is.
    std::optional<Response> refusal(const Request& request) const;
    bool permits_writes() const { return permits_writes_; }

private:
    std::optional<Response> refusal_to_write(const Request& request) const;

    std::string token_;
    bool permits_writes_;
};

/// The token in a file: its first line. Fails if others than owner and group can read it, or if it is short.
base::Result<std::string> read_token(const std::string& path);

/// Takes the same time for all texts of one length, so that the time shows nothing of the secret.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

/// The secret in a header `Authorization: Bearer SECRET`, or `Basic` with any user and the secret as password; no value
/// for anything else. RFC 6750, 2.1; RFC 7617, 2.
std::optional<std::string> secret_of(std::string_view authorization);

}  // namespace service::http
