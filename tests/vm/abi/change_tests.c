/* SPDX-License-Identifier: MIT */
/* The right to change what runs: who has it, for which programs, at which places. */
#define _GNU_SOURCE
#include "kit.h"

#include <asm/ptrace.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OVERRIDE	PROG(MOVI(2, -5), CALL(override), RETURN(0))
#define WRITES(reg)	PROG(LD(2, 1, HIT(regs)), STI(2, offsetof(struct pt_regs, reg), 1), RETURN(0))
#define GO_TO(addr)	PROG(MOVI(2, (uint32_t)(addr)), MOVI(3, (addr) >> 32), CALL(go_to), RETURN(0))

static int opened(unsigned rights)
{
	struct kpl_rights arg = { .rights = rights };
	int fd = session();

	EQ(ioctl(fd, KPL_IOC_RIGHTS, &arg), 0);
	return fd;
}

static int refused(int fd, unsigned kind, const struct bpf_insn *insns, unsigned nr)
{
	struct kpl_prog_load l = { .kind = kind };

	FAILS(EACCES, load_with(fd, &l, insns, nr));
	return l.reject;
}

/* Drops CAP_SYS_ADMIN; CAP_PERFMON and CAP_BPF stay. */
static void without_admin(int fd)
{
	struct kpl_rights arg = { .rights = KPL_RIGHT_CHANGE };

	set_caps(1ull << CAP_PERFMON | 1ull << CAP_BPF);
	fd = session();
	FAILS(EPERM, ioctl(fd, KPL_IOC_RIGHTS, &arg));
	EQ(refused(fd, KPL_PROG_PRE, OVERRIDE), KPL_REJECT_HELPER);
}

static void rights(void)
{
	struct kpl_rights unknown = { .rights = 4 }, reserved = { .rights = 1, .reserved = 1 };
	int fd = session();

	FAILS(EINVAL, ioctl(fd, KPL_IOC_RIGHTS, &unknown));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_RIGHTS, &reserved));
	EQ(refused(fd, KPL_PROG_PRE, OVERRIDE), KPL_REJECT_HELPER);
	EQ(refused(fd, KPL_PROG_PRE, WRITES(rdi)), KPL_REJECT_STORE);
	close(fd);
	fd = opened(KPL_RIGHT_INJECT);
	OK(load(fd, KPL_PROG_PRE, OVERRIDE) >= 0);
	EQ(refused(fd, KPL_PROG_PRE, WRITES(rdi)), KPL_REJECT_STORE);
	close(fd);
	fd = opened(KPL_RIGHT_CHANGE);
	OK(load(fd, KPL_PROG_PRE, WRITES(rdi)) >= 0);
	EQ(refused(fd, KPL_PROG_PRE, WRITES(r11)), KPL_REJECT_STORE);
	EQ(refused(fd, KPL_PROG_PRE, WRITES(rsp)), KPL_REJECT_STORE);
	EQ(refused(fd, KPL_PROG_PRE, WRITES(eflags)), KPL_REJECT_STORE);
	in_child(without_admin, fd);
	close(fd);
}

static void attach_refused(int fd, int error, struct kpl_attach probe)
{
	FAILS(ECANCELED, attach(fd, &probe, 1));
	EQ(probe.error, -error);
}

/* The kernel's own rules stand behind what the program names. */
static void places(void)
{
	int fd = opened(KPL_RIGHT_CHANGE);
	int override = load(fd, KPL_PROG_PRE, OVERRIDE), write = load(fd, KPL_PROG_PRE, WRITES(rdi));
	struct kpl_attach inside = probe_at(CALLED, KPL_PROBE_KPROBE, override, KPL_NO_PROG);
	struct kpl_attach clock = probe_at(CALLED, KPL_PROBE_EVENT, write, KPL_NO_PROG);

	EQ(refused(fd, KPL_PROG_PRE, GO_TO(symbol("vfs_read") + 1)), KPL_REJECT_TARGET);
	EQ(refused(fd, KPL_PROG_PRE, GO_TO(4096ull)), KPL_REJECT_TARGET);
	OK(load(fd, KPL_PROG_PRE, GO_TO(symbol("vfs_read"))) >= 0);
	attach_refused(fd, EDEADLK, probe_at("_raw_spin_lock", KPL_PROBE_KPROBE, override, KPL_NO_PROG));
	/* Behind ftrace's site, before which a landing pad may stand. */
	inside.addr += 5;
	FAILS(ECANCELED, attach(fd, &inside, 1));
	if (inside.error == -EOPNOTSUPP) {	/* within it */
		inside.addr += 4;
		FAILS(ECANCELED, attach(fd, &inside, 1));
	}
	EQ(inside.error, -EDOM);
	clock.event = KPL_EVENT_PROFILE;
	clock.period = 99;
	attach_refused(fd, EINVAL, clock);
	close(fd);
	fd = opened(KPL_RIGHT_INJECT);
	override = load(fd, KPL_PROG_PRE, OVERRIDE);
	attach_refused(fd, EACCES, probe_at("vfs_read", KPL_PROBE_KPROBE, override, KPL_NO_PROG));
	/* A system call without arguments has two names; of others, the second is a part's, which is not marked. */
	EQ(control(fd, KPL_CTL_DETACH, attach_one(fd, probe_at("__do_sys_getppid", KPL_PROBE_FTRACE, override, KPL_NO_PROG))), 0);
	EQ(symbol("__do_sys_getppid"), symbol("__x64_sys_getppid"));
	OK(symbol("__do_sys_clone") && symbol("__do_sys_clone") != symbol("__x64_sys_clone"));
	attach_refused(fd, EACCES, probe_at("__do_sys_clone", KPL_PROBE_FTRACE, override, KPL_NO_PROG));
	close(fd);
}

/* Each way into a function, counted; afterwards it is what it was. */
static void overrides(void)
{
	int fd = opened(KPL_RIGHT_INJECT);
	int prog = load(fd, KPL_PROG_PRE, OVERRIDE);
	struct kpl_attach by_kprobe = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	unsigned id = attach_one(fd, probe_at(CALLED, KPL_PROBE_FTRACE, prog, KPL_NO_PROG));

	/* What it returns is an error, in the system call's own way. */
	EQ(syscall(SYS_getpriority, 0, 0), -1);
	call(100);
	EQ(stats(fd, id).moved, 101);
	EQ(stats(fd, id).entry.handled, 101);
	EQ(control(fd, KPL_CTL_DETACH, id), 0);
	OK(syscall(SYS_getpriority, 0, 0) > 0);
	/* ftrace has to know. */
	FAILS(ECANCELED, attach(fd, &by_kprobe, 1));
	EQ(by_kprobe.error, -EOPNOTSUPP);
	close(fd);
}

/* What can't be switched on, as another's change is there, leaves on what was. */
static void on_with_others(void)
{
	int fd = opened(KPL_RIGHT_CHANGE), other = opened(KPL_RIGHT_CHANGE), i;
	struct kpl_attach a[2] = {
		probe_at(CALLED, KPL_PROBE_FTRACE, load(fd, KPL_PROG_PRE, OVERRIDE), KPL_NO_PROG),
		probe_at("__x64_sys_setpriority", KPL_PROBE_FTRACE, load(fd, KPL_PROG_PRE, OVERRIDE), KPL_NO_PROG),
	};
	struct kpl_attach same = a[1];
	uint32_t ids[2];
	struct kpl_control on = { .ids = (uintptr_t)ids, .nr = 2, .op = KPL_CTL_ENABLE };

	a[1].flags = KPL_ATTACH_F_DISABLED;
	EQ(attach(fd, a, 2), 0);
	same.prog[0] = load(other, KPL_PROG_PRE, OVERRIDE);
	attach_one(other, same);
	for (i = 0; i < 2; i++) {
		ids[0] = a[i].id;
		ids[1] = a[!i].id;
		FAILS(EBUSY, ioctl(fd, KPL_IOC_CONTROL, &on));
		EQ(stats(fd, a[0].id).state, KPL_STATE_FTRACE);
		EQ(stats(fd, a[1].id).state, KPL_STATE_DISABLED);
		call(10);
		EQ(stats(fd, a[0].id).moved, 10 * (i + 1));
	}
	close(other);
	EQ(ioctl(fd, KPL_IOC_CONTROL, &on), 0);
	EQ(stats(fd, a[1].id).state, KPL_STATE_FTRACE);
	call(10);
	EQ(stats(fd, a[0].id).moved, 30);
	close(fd);
}

/* One that is enabled where another has gone on meanwhile leaves nothing of where it stood. */
static void on_elsewhere(void)
{
	int fd = opened(KPL_RIGHT_CHANGE), prog = load(fd, KPL_PROG_PRE, OVERRIDE);
	struct kpl_attach a[2] = {
		probe_at("__x64_sys_setpriority", KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
		probe_at(CALLED, KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
	};
	struct kpl_attach again = a[1];
	uint64_t before = info(fd).memory_all;
	unsigned late;

	EQ(attach(fd, a, 2), 0);
	EQ(control(fd, KPL_CTL_DISABLE, a[1].id), 0);
	again.flags = KPL_ATTACH_F_DISABLED;
	late = attach_one(fd, again);
	EQ(control(fd, KPL_CTL_DISABLE, a[0].id), 0);
	EQ(control(fd, KPL_CTL_ENABLE, a[1].id), 0);
	EQ(control(fd, KPL_CTL_ENABLE, late), 0);
	call(10);
	EQ(stats(fd, a[1].id).moved, 10);
	EQ(stats(fd, late).moved, 10);
	close(fd);
	fd = opened(KPL_RIGHT_CHANGE);
	load(fd, KPL_PROG_PRE, OVERRIDE);
	WAIT(info(fd).memory_all == before);
	close(fd);
}

/* What starts a module goes before the rest of it. */
static void startup(void)
{
	int fd = opened(KPL_RIGHT_CHANGE), there, i;
	struct kpl_attach within;
	pid_t child;

	EQ(syscall(SYS_delete_module, "kpl_target", O_NONBLOCK), 0);
	child = fork();
	if (!child) {
		load_module("KPL_TARGET", "held=1");
		_exit(0);
	}
	for (i = 0; !symbol("kpl_t_starting") && i < 3000; i++)
		usleep(10000);
	for (i = 0; of_target("begun", NULL) != 'Y' && i < 30000; i++)
		usleep(1000);
	there = load(fd, KPL_PROG_PRE, GO_TO(symbol("kpl_t_starting")));
	attach_refused(fd, EXDEV, probe_at("kpl_t_plain", KPL_PROBE_FTRACE, there, KPL_NO_PROG));
	within = probe_at("kpl_t_starting", KPL_PROBE_FTRACE, there, KPL_NO_PROG);
	within.flags = KPL_ATTACH_F_DISABLED;	/* it would never get away */
	attach_one(fd, within);
	close(fd);
	of_target("held", "0");
	OK(waitpid(child, &i, 0) == child && i == 0);
}

const struct test change_tests[] = {
	{ "rights to change", rights },
	{ "places of changes", places },
	{ "overrides", overrides },
	{ "on with others", on_with_others },
	{ "on elsewhere", on_elsewhere },
	{ "goes to start-up code", startup },
	{}
};
