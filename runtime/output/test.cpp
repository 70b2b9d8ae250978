// SPDX-License-Identifier: MIT
// A format for tests of the table alone: the number of rows.
#include "output/format.hpp"

namespace kpl {
namespace {

class Test final : public Format {
  public:
    std::string map(const MapDecl& map, const std::vector<KeyedValue>& rows) const override {
        return map.name + " has " + std::to_string(rows.size()) + "\n";
    }
};

}  // namespace

const Format& test_format() {
    static const Test format;
    return format;
}

}  // namespace kpl
