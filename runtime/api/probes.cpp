// SPDX-License-Identifier: MIT
// Probes, the account, and what can be asked of the kernel.
#include <fmt/format.h>

#include "api/handle.hpp"
#include "inspect/functions.hpp"
#include "inspect/print_lists.hpp"
#include "symbols/target_text.hpp"

using namespace kpl;
using namespace kpl::api;

namespace {

const ProbeDecl* find(klua_session* s, int probe) {
    if (s->session && probe >= 0 && static_cast<size_t>(probe) < s->session->declared().probes().size())
        return &s->session->declared().probes()[static_cast<size_t>(probe)];
    s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("there is no probe {}", probe));
    return nullptr;
}

int control(klua_session* s, int probe, kpl_control_op op) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const ProbeDecl* decl = find(s, probe);
        if (!decl) return s->errors.number();
        if (decl->detached && op != KPL_CTL_DETACH)
            return s->errors.set(KLUA_ERR_STATE, decl->failed ? "the probe could not be armed: declare it again"
                                                              : "the probe was detached: declare it again");
        const auto number = static_cast<uint32_t>(probe);
        return switched(s, op, s->session->control({&number, 1}, op));
    });
}

klua_counts counts_of(const kpl_counts& c) {
    return {c.hits, c.handled, c.skipped, c.missed, c.faults, c.errors, c.overruns};
}

}  // namespace

// What can't be done now was right before, or will be.
int kpl::api::switched(klua_session* s, kpl_control_op op, const Result<void>& done) {
    if (s->session->stopped() && op == KPL_CTL_ENABLE)
        return s->errors.set(KLUA_ERR_STATE, "the session has ended: its probes are gone");
    if (done) return 0;
    return done.error().code == Errc::script ? s->errors.set(KLUA_ERR_STATE, done.error().message())
                                             : s->errors.set(done.error());
}

extern "C" {

int klua_probe_count(klua_session* s) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        return s->session ? static_cast<int>(s->session->declared().probes().size()) : 0;
    });
}

int klua_probe(klua_session* s, int probe, klua_probe_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const ProbeDecl* decl = find(s, probe);
        if (!decl) return s->errors.number();
        const auto number = static_cast<uint32_t>(probe);
        const Armed* armed = s->session->armed();
        ProbeStatus status = TRY(s->session->status(number));
        s->probe_text[0] = armed ? armed->name_of(number) : "";
        s->probe_text[1] = status.state;
        s->probe_text[2] = decl->at.file;
        TRY(give(info, klua_probe_info{0, s->probe_text[0].c_str(), probe_kind(decl->kind).name,
                                       s->probe_text[1].c_str(), s->probe_text[2].c_str(), decl->at.line,
                                       armed ? static_cast<int>(armed->places_of(number)) : 0, counts_of(status.first),
                                       counts_of(status.second), status.outstanding}));
        return 0;
    });
}

int klua_probe_enable(klua_session* s, int probe) { return control(s, probe, KPL_CTL_ENABLE); }
int klua_probe_disable(klua_session* s, int probe) { return control(s, probe, KPL_CTL_DISABLE); }
int klua_probe_detach(klua_session* s, int probe) { return control(s, probe, KPL_CTL_DETACH); }

int klua_stats(klua_session* s, struct klua_record_stats* stats) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        struct klua_record_stats now {};
        if (s->session && s->session->armed()) {
            const auto events = s->session->events();
            now.sent = events.sent, now.delivered = events.delivered, now.lost = events.lost;
            now.left = now.sent - now.delivered - now.lost;
            now.memory = TRY(s->session->armed()->device().info()).memory;
        }
        TRY(give(stats, now));
        return 0;
    });
}

int klua_targets(klua_session* s, const char* glob, klua_name_fn fn, void* user) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!fn) return Error{Errc::usage, "no function to call"};
        Kallsyms& symbols = TRY(s->open())->kernel().symbols;
        auto functions = probeable_functions(symbols, glob ? glob : "*");
        if (!functions && functions.error().code == Errc::script)  // it is no target
            return s->errors.set(KLUA_ERR_USAGE, functions.error().message());
        std::string last;
        for (const Symbol& symbol : TRY(std::move(functions))) {
            std::string name = target_name(symbol);
            if (name == last) continue;  // several static functions of one name
            try {
                if (fn(user, name.c_str())) break;
            } catch (...) {
                s->callbacks.has_thrown();
                break;
            }
            last = std::move(name);
        }
        return 0;
    });
}

int klua_declaration(klua_session* s, const char* function, char* text, size_t size) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!function || (size && !text)) return Error{Errc::usage, "no function, or no room for the text"};
        std::string declaration;
        if (const auto target = parse_target(function); target && !target->offset) {
            Symbol symbol;
            symbol.name = target->symbol, symbol.module = target->module;
            declaration = c_declaration(symbol, TRY(s->open())->kernel().types);
        }
        if (declaration.empty())
            return s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("BTF knows no function '{}'", function));
        return give_text(declaration, text, size);
    });
}

}  // extern "C"
