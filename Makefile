# SPDX-License-Identifier: MIT
# Shortcuts: CMake builds, setup/install brings the packages.
BUILD ?= build
# Which kernel `make demo` boots, as --vm takes it.
KERNEL ?= newest

workload = for file in /etc/hostname /nonexistent /etc/passwd /no/such/file; do cat $$file; sleep 0.3; done >/dev/null 2>&1

.PHONY: all packages configure demo check clean

all: configure
	@echo "==> building kprobe-lua, its tests, and the module for each kernel whose headers are installed"
	@ninja -C $(BUILD)

# Once: Ninja configures again by itself when a CMakeLists.txt or the set of installed kernels has changed.
configure:
	@[ -f $(BUILD)/build.ninja ] || { echo "==> configuring $(BUILD)/"; cmake -G Ninja -S . -B $(BUILD); }

packages:
	@setup/install

demo: packages
	@$(MAKE) --no-print-directory configure
	@echo "==> building kprobe-lua, and the module for each kernel whose headers are installed"
	@ninja -C $(BUILD) kprobe-lua kernel_modules
	@echo "==> tracing open(2) in a throwaway VM while a shell opens files, present and missing"
	@$(BUILD)/kprobe-lua --vm=$(KERNEL) -v -c '$(workload)' examples/opensnoop.lua

check: packages
	@$(MAKE) --no-print-directory all
	@tests/check $(BUILD)

clean:
	rm -rf $(BUILD)
