// SPDX-License-Identifier: MIT
// Text for people: what the script printed, and aggregations as bpftrace's users know them.
#include "output/format.hpp"

namespace kpl {
namespace {

class Text final : public Format {
  public:
    std::string map(const MapDecl& map, const std::vector<KeyedValue>& rows) const override {
        return render(map, rows);
    }
    bool as_tostring() const override { return true; }
};

}  // namespace

const Format& text_format() {
    static const Text format;
    return format;
}

}  // namespace kpl
