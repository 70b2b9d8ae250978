/* SPDX-License-Identifier: MIT */
/* Helpers without memory: task, time, arithmetic, the end of the script. */
#include "costs.h"

#include <sys/ioctl.h>

static void plain(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void of_hit(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOVI(2, 3));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void of_number(struct code *c, const struct measurement *m, unsigned nr)
{
	put_number(c, 1, m->a);
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void divide(struct code *c, const struct measurement *m, unsigned nr)
{
	put_number(c, 1, m->a);
	put_number(c, 2, m->b);
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void comm(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 7));
	put(c, MOVI(2, m->a));
	put(c, CALL(comm));
}

static void go_to(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOVI(2, (uint32_t)m->a));
	put(c, MOVI(3, m->a >> 32));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

#define PLAIN(name)	CASE(name, "", .fd = fd, .call = plain)

/* A program goes to so many places at most. */
static void measure_changes(void)
{
	struct kpl_rights all = { .rights = KPL_RIGHT_CHANGE };
	int fd = session();

	if (ioctl(fd, KPL_IOC_RIGHTS, &all))
		return;
	CASE(override, "", .fd = fd, .call = of_hit, .changes = 1);
	CASE(go_to, "", .fd = fd, .call = go_to, .a = symbol("vfs_read"), .changes = 1,
	     .copies = KPL_MAX_TARGETS);
}

void measure_simple(void)
{
	int fd = session();

	PLAIN(now);
	PLAIN(pid);
	PLAIN(tid);
	PLAIN(ppid);
	PLAIN(uid);
	PLAIN(gid);
	PLAIN(task);
	CASE(user_reg, "the last one", .fd = fd, .call = of_number, .a = 160);
	CASE(user_reg, "beyond", .fd = fd, .call = of_number, .a = 1ull << 40);
	PLAIN(cgroup);
	PLAIN(space);
	CASE(sdiv, "large by small", .fd = fd, .call = divide, .a = 1ull << 62, .b = 3);
	CASE(sdiv, "by -1", .fd = fd, .call = divide, .a = 1ull << 63, .b = -1);
	CASE(smod, "large by small", .fd = fd, .call = divide, .a = 1ull << 62, .b = 3);
	CASE(smod, "by 0", .fd = fd, .call = divide, .a = 1ull << 62);
	CASE(comm, "limit 0", .fd = fd, .call = comm, .a = 0);
	CASE(comm, "limit 15", .fd = fd, .call = comm, .a = 15);
	CASE(comm, "limit 17", .fd = fd, .call = comm, .a = 17);
	CASE(comm, "limit 255", .fd = fd, .call = comm, .a = 255);
	CASE(comm, "limit 4095", .fd = fd, .call = comm, .a = 4095);
	CASE(status_clear, "", .fd = fd, .call = of_hit);
	CASE(exit, "", .fd = fd, .call = of_hit);
	measure_changes();
}
