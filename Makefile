# SPDX-License-Identifier: MIT
# Shortcuts: CMake builds, setup/install brings the packages.
BUILD ?= build
# Which kernel `make demo` boots, as --vm takes it.
KERNEL ?= newest

workload = for file in /etc/hostname /nonexistent /etc/passwd /no/such/file; do cat $$file; sleep 0.3; done >/dev/null 2>&1

.PHONY: all packages configure demo check lint sanitize threads bench soak fuzz mutate sweep sweep-modules sweep-rt kills storm neighbours install modules_install clean

all: configure
	@echo "==> building kprobe-lua, its tests, and the module for each kernel whose headers are installed"
	@ninja -C $(BUILD)

# Once: Ninja configures again by itself when a CMakeLists.txt or the set of installed kernels has changed.
configure:
	@[ -f $(BUILD)/build.ninja ] || { echo "==> configuring $(BUILD)/"; cmake -G Ninja -S . -B $(BUILD) -DKPL_FOLDERS_AT_ONCE=ON; }

packages:
	@setup/install

demo: packages
	@$(MAKE) --no-print-directory configure
	@echo "==> building kprobe-lua, and the module for each kernel whose headers are installed"
	@ninja -C $(BUILD) kprobe-lua kernel_modules
	@echo "==> tracing open(2) in a throwaway VM while a shell opens files, present and missing"
	@$(BUILD)/kprobe-lua --vm=$(KERNEL) -v -c '$(workload)' examples/opensnoop.lua

check: packages
	@$(MAKE) --no-print-directory configure
	@echo "==> building kprobe-lua, its tests, and the module for each kernel whose headers are installed"
	@ninja -C $(BUILD) all sanitized_test sanitized_library_test
	@tests/check $(BUILD)

# The unit tests under sanitizers, with assertions, and no type defined twice.
sanitize: packages
	@$(MAKE) --no-print-directory configure
	@ninja -C $(BUILD) sanitized_test sanitized_library_test
	@tests/check $(BUILD) -L sanitize

# Four threads, each with sessions of its own that compile and check, under ThreadSanitizer.
threads: packages
	@cmake --preset thread > /dev/null
	@ninja -C build/thread library_test
	@TSAN_OPTIONS=halt_on_error=1 build/thread/tests/library/library_test host "sessions in threads"

# Style, includes, what linters find; a part of `make check`.
lint: packages
	@tests/lint/run

# The figures of docs/performance.md; KERNELS="6.1" for one kernel only.
bench: packages all
	@setup/install setup/peers
	@tests/bench/run $(BUILD) $(KERNELS)

# A thousand sessions of the library in one process, on both kernels.
SESSIONS ?= 1000

soak: packages all
	@tests/bench/soak $(BUILD) $(SESSIONS) $(KERNELS)

# Long: random functions against LuaJIT; nearly right programs, and inputs that coverage leads to, against the verifier;
# programs on all engines.
FUNCTIONS ?= 100000
INPUTS ?= 10000000
PROGRAMS ?= 100000
SEED ?= 1

fuzz: packages
	@$(MAKE) --no-print-directory configure
	@echo "==> building the fuzzers"
	@ninja -C $(BUILD) differential_test verifier_fuzz guided_fuzzers kprobe-lua-exec engine_rows kernel_modules
	@echo "==> $(FUNCTIONS) random functions, compiled and in LuaJIT"
	@KPL_FUNCTIONS=$(FUNCTIONS) KPL_SEED=$(SEED) $(BUILD)/tests/unit/differential_test
	@echo "==> $(INPUTS) programs through the verifier"
	@mkdir -p $(BUILD)/fuzz
	@$(BUILD)/tests/fuzz/verifier_fuzz $(INPUTS) $(SEED) $(BUILD)/fuzz/verifier.txt
	@echo "==> $(INPUTS) inputs that coverage leads to; $(BUILD)/fuzz keeps those that matter"
	@KPL_ACCEPTED=$(abspath $(BUILD))/fuzz/guided.txt tests/fuzz/guided $(BUILD) $(INPUTS) $(SEED) $(BUILD)/fuzz
	@echo "==> those of both that are accepted, on the kernels' engines"
	@test -s $(BUILD)/fuzz/verifier.txt && test -s $(BUILD)/fuzz/guided.txt || { echo "no program was accepted"; exit 1; }
	@for kernel in $(or $(KERNELS),6.1 6.12); do \
	    $(BUILD)/tests/vm/engine_rows --vm=$$kernel $(BUILD)/fuzz/verifier.txt $(BUILD)/fuzz/guided.txt || exit 1; \
	done
	@echo "==> $(PROGRAMS) accepted programs on interpreter, reference and the kernels' JIT"
	@tests/exec/check $(BUILD)/kprobe-lua-exec $(PROGRAMS) $(SEED) $(or $(KERNELS),6.1 6.12)

# Half an hour: each rule of the verifier deleted or weakened, and whether the tests notice.
mutate: packages
	@$(MAKE) --no-print-directory configure
	@ninja -C $(BUILD) verdict_samples verifier_test core_test
	@luajit tests/mutation/mutate.lua $(BUILD)

# Hours: probes of each kind on every function and tracepoint of both kernels, or of KERNELS; at each instruction of 200 functions.
SWEEP ?= tracepoint ftrace kprobe kretprobe direct

sweep: packages all
	@for kernel in $(or $(KERNELS),6.1 6.12); do \
	    for kind in $(SWEEP); do for how in all one; do tests/sweep/run $(BUILD) $$kernel $$kind $$how || exit 1; done; done; \
	    tests/sweep/run $(BUILD) $$kernel offsets || exit 1; \
	done

# All functions of some modules, while they work and while they are unloaded; ten minutes for each kernel.
sweep-modules: packages all
	@setup/install setup/peers
	@for kernel in $(or $(KERNELS),6.1 6.12); do tests/sweep/modules $(BUILD) $$kernel || exit 1; done

# The same on Debian's PREEMPT_RT kernels, which setup/rt-kernels unpacks; KERNELS="6.1-rt 6.12-rt".
rt = $(abspath $(BUILD))/rt-kernels

sweep-rt: packages
	@setup/rt-kernels $(rt)
	@cmake -G Ninja -S . -B $(BUILD)/rt -DKPL_KERNELS=$(rt)/lib/modules > /dev/null
	@KPROBE_LUA_BOOT_DIR=$(rt)/boot $(MAKE) --no-print-directory sweep BUILD=$(BUILD)/rt KERNELS="$(or $(KERNELS),6.1-rt 6.12-rt)"

# Half an hour for each kernel: kprobe-lua is killed at random moments, and nothing is left.
KILLS ?= 200

kills: packages all
	@for kernel in $(or $(KERNELS),6.1 6.12); do tests/kills/run $(BUILD) $$kernel $(KILLS) $(SEED) || exit 1; done

# Five minutes for each kernel: processes call the module as nobody should, all at once, and are killed.
STORM ?= 300

storm: packages all
	@for kernel in $(or $(KERNELS),6.1 6.12); do tests/storm/run $(BUILD) $$kernel $(STORM) $(SEED) || exit 1; done

# Other tracers at the functions of our probes, in every order: perf and bpftrace, too.
neighbours: packages all
	@setup/install setup/peers
	@cmake -S . -B $(BUILD) > /dev/null # finds them
	@tests/check $(BUILD) -L long

# Command, library, headers, manual pages, udev rule: below DESTDIR, if it is given.
PREFIX ?= /usr/local

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

# The modules, below DESTDIR/lib/modules: modprobe and --vm find them there.
modules_install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --component modules
	@[ -n "$(DESTDIR)" ] || for kernel in $(BUILD)/kmod/*/kprobe_lua.ko; do depmod "$$(basename "$${kernel%/*}")"; done

clean:
	rm -rf $(BUILD)
