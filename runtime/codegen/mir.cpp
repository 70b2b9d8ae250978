// SPDX-License-Identifier: MIT
#include "codegen/mir.hpp"

#include <cassert>

namespace kpl::mir {
namespace {

struct TestForms {
    Test inverse, swapped;
};
constexpr TestForms test_forms[] = {
    /* Eq  */ {Test::Ne, Test::Eq},
    /* Ne  */ {Test::Eq, Test::Ne},
    /* SLt */ {Test::SGe, Test::SGt},
    /* SLe */ {Test::SGt, Test::SGe},
    /* SGt */ {Test::SLe, Test::SLt},
    /* SGe */ {Test::SLt, Test::SLe},
    /* ULt */ {Test::UGe, Test::UGt},
    /* ULe */ {Test::UGt, Test::UGe},
    /* UGt */ {Test::ULe, Test::ULt},
    /* UGe */ {Test::ULt, Test::ULe},
};

}  // namespace

Test inverse(Test test) {
    assert(test != Test::Bits);
    return test_forms[static_cast<int>(test)].inverse;
}

Test swapped(Test test) { return test == Test::Bits ? test : test_forms[static_cast<int>(test)].swapped; }

bool is_pure(const Inst& inst) {
    switch (inst.kind) {
        case Kind::MovImm:
        case Kind::Mov:
        case Kind::Alu:
        case Kind::Zext32:
        case Kind::Load:
        case Kind::LoadMap:
        case Kind::CondMov:
        case Kind::Reload: return true;
        case Kind::Store:
        case Kind::Call:
        case Kind::Trap:
        case Kind::Spill:
        case Kind::Jump:
        case Kind::Branch:
        case Kind::Ret:
        case Kind::Stop: return false;
    }
    return false;
}

}  // namespace kpl::mir
