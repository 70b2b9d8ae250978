/* SPDX-License-Identifier: MIT */
/*
 * A BPF trampoline at a function: `fentried MODULE FUNCTION` attaches a program to its entry, prints a line, and prints how
 * often that ran when it gets SIGTERM. Exit status 2: the kernel has no types of the module.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "fentried: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void no_types(const char *of)
{
	fprintf(stderr, "fentried: no types of %s\n", of);
	exit(2);
}

/* A descriptor of the module's types; the kernel lists them by number. */
static int types_of(const char *module)
{
	uint32_t id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t size = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(name, module))
			return fd;
		close(fd);
	}
	no_types(module);
	return -1;
}

static int number_of(const char *module, const char *function)
{
	struct btf *vmlinux = btf__load_vmlinux_btf(), *types;
	int id;

	if (!vmlinux)
		no_types("the kernel");
	types = btf__load_module_btf(module, vmlinux);
	if (!types)
		no_types(module);
	id = btf__find_by_name_kind(types, function, BTF_KIND_FUNC);
	if (id < 0)
		no_types(function);
	return id;
}

/* Counts in the only value of `map`. */
static int load(const char *module, const char *function, int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_obj_fd = types_of(module), .attach_btf_id = number_of(module, function));
	int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "fentried", "GPL", insns, sizeof(insns) / sizeof(*insns), &options);

	if (program < 0)
		die("load");
	return program;
}

int main(int argc, char **argv)
{
	uint64_t hits = 0;
	uint32_t first = 0;
	sigset_t ends;
	int map, sig;

	if (argc != 3)
		return 3;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fentried", sizeof(first), sizeof(hits), 1, NULL);
	if (map < 0)
		die("map");
	if (bpf_raw_tracepoint_open(NULL, load(argv[1], argv[2], map)) < 0)
		die("attach");
	printf("attached\n");
	fflush(stdout);
	sigwait(&ends, &sig);
	if (bpf_map_lookup_elem(map, &first, &hits))
		die("read");
	printf("%llu\n", (unsigned long long)hits);
	return 0;
}
