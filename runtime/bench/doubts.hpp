// SPDX-License-Identifier: MIT
// What disturbs figures of a machine.
#pragma once

#include <string>
#include <vector>

namespace kpl {

// As it is now; `root` stands before every path.
std::vector<std::string> machine_doubts(const std::string& root = {});
// The processor's name; "" where the kernel does not say.
std::string processor_name(const std::string& root = {});

// Between two looks: who else ran.
class Interference {
  public:
    Interference();
    std::vector<std::string> doubts() const;

  private:
    struct Look {
        long switches = 0;
        unsigned long long stolen = 0;
    };
    static Look look();
    Look before_;
};

}  // namespace kpl
