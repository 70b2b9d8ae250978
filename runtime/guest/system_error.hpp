// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string>

#include "base/result.hpp"

namespace kpl {

// "what: <the text of errno value `error`>"
inline Error system_error(const std::string& what, int error) {
    return {Errc::system, what + ": " + std::strerror(error)};
}

}  // namespace kpl
