/* SPDX-License-Identifier: MIT */
/*
 * Loads the machine while a sweep has probes on it:
 *
 *	sweep_load FILE		two workers go through a table of jobs, again and again, until SIGTERM or SIGINT; FILE tells
 *				how often each has been through all of it, as "     12      11"
 *	sweep_load --reached	functions of the kernel that each round comes by and returns from, and tracepoints ("t:NAME")
 *
 * Exit status 1, with the call on stderr, as soon as one that must work does not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, PAGE = 4096, WIDTH = 8 };

static void failed(int line, const char *what)
{
	fprintf(stderr, "load.c:%d: %s: %s\n", line, what, strerror(errno));
	_exit(1);
}

/* A call that must work. */
#define DO(call) ({ long got_ = (long)(call); if (got_ == -1) failed(__LINE__, #call); got_; })
/* What must be so. */
#define IS(so) ({ if (!(so)) failed(__LINE__, #so); })

static char buf[16 * PAGE];
static char dir[32];

static int make(const char *name)
{
	return DO(open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static void ended_well(pid_t child)
{
	int status;

	DO(waitpid(child, &status, 0));
	IS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the jobs */

static void files(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 10 };
	struct iovec part = { buf, 100 };
	struct statx sx;
	struct statfs fs;
	struct stat st;
	int a = make("a"), b = make("b");

	DO(write(a, buf, sizeof(buf)));
	DO(pwritev(a, &part, 1, 5000));
	DO(lseek(a, 0, SEEK_SET));
	IS(read(a, buf, sizeof(buf)) == sizeof(buf));
	DO(preadv(a, &part, 1, 50));
	DO(copy_file_range(a, &(off_t){ 0 }, b, NULL, PAGE, 0));
	DO(sendfile(b, a, &(off_t){ 0 }, PAGE));
	DO(fallocate(a, 0, 0, 20 * PAGE));
	DO(fallocate(a, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE));
	DO(ftruncate(a, 3 * PAGE));
	DO(truncate("a", PAGE));
	DO(fsync(a)); DO(fdatasync(b));
	DO(flock(a, LOCK_EX)); DO(flock(a, LOCK_UN)); DO(fcntl(a, F_SETLK, &lock));
	DO(fchmod(a, 0644)); DO(fchown(a, 1, 1)); DO(futimens(a, NULL)); DO(access("a", R_OK));
	DO(fsetxattr(a, "trusted.load", "x", 1, 0)); DO(fgetxattr(a, "trusted.load", buf, 10)); DO(flistxattr(a, buf, 100));
	DO(link("a", "c")); DO(symlink("a", "d")); DO(readlink("d", buf, 100)); DO(rename("c", "e"));
	DO(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
	DO(stat("d", &st)); DO(lstat("d", &st)); DO(fstat(a, &st)); DO(statfs(".", &fs)); DO(statx(AT_FDCWD, "e", 0, STATX_ALL, &sx));
	DO(mkdir("dir", 0700)); DO(rmdir("dir")); DO(mkfifo("fifo", 0600)); DO(unlink("fifo"));
	DO(close(dup(a))); DO(close(a)); DO(close(b));
	IS(open("none", O_RDONLY) < 0);
	DO(unlink("a")); DO(unlink("b")); DO(unlink("d")); DO(unlink("e"));
}

static void mapped(void)
{
	int fd = make("m");
	char *at, *anon;
	pid_t child;

	DO(ftruncate(fd, 16 * PAGE));
	at = (char *)DO(mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	anon = (char *)DO(mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(at, 1, 16 * PAGE);
	memset(anon, 1, 32 * PAGE);
	child = DO(fork());
	if (!child) {
		memset(anon, 2, 16 * PAGE); /* copies */
		_exit(anon[0] + at[0] != 3);
	}
	ended_well(child);
	DO(msync(at, 16 * PAGE, MS_SYNC)); DO(mincore(at, 16 * PAGE, (unsigned char *)buf));
	DO(mprotect(anon, PAGE, PROT_READ)); DO(mprotect(anon, PAGE, PROT_READ | PROT_WRITE)); DO(mlock(anon, 2 * PAGE)); DO(munlock(anon, 2 * PAGE));
	DO(madvise(anon, 8 * PAGE, MADV_DONTNEED)); DO(madvise(anon + 8 * PAGE, 8 * PAGE, MADV_FREE));
	DO(madvise(at, 16 * PAGE, MADV_PAGEOUT));
	anon = (char *)DO(mremap(anon, 64 * PAGE, 256 * PAGE, MREMAP_MAYMOVE));
	DO(madvise(anon, 256 * PAGE, MADV_POPULATE_WRITE));
	DO(munmap(anon, 256 * PAGE)); DO(munmap(at, 16 * PAGE)); DO(close(fd)); DO(unlink("m"));
	DO(sbrk(PAGE));
	DO(sbrk(-PAGE));
}

static void pipes(void)
{
	struct iovec part = { buf, PAGE };
	int in[2], out[2], zero = DO(open("/dev/zero", O_RDONLY)), null = DO(open("/dev/null", O_WRONLY));

	DO(pipe2(in, O_CLOEXEC)); DO(pipe(out));
	DO(write(in[1], buf, 2 * PAGE)); DO(vmsplice(in[1], &part, 1, 0));
	DO(tee(in[0], out[1], PAGE, 0)); DO(splice(in[0], NULL, out[1], NULL, PAGE, 0)); DO(read(out[0], buf, PAGE));
	DO(fcntl(in[1], F_SETPIPE_SZ, 4 * PAGE)); DO(ioctl(out[0], FIONREAD, buf)); DO(splice(out[0], NULL, null, NULL, PAGE, 0));
	DO(read(zero, buf, PAGE));
	DO(close(in[0])); DO(close(in[1])); DO(close(out[0])); DO(close(out[1])); DO(close(zero)); DO(close(null));
}

/* Both ways, until both ends are closed. */
static void talk(int from, int to)
{
	struct iovec part = { buf, 3000 };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

	DO(send(from, buf, 3000, 0)); DO(recv(to, buf, sizeof(buf), 0));
	DO(sendmsg(to, &msg, MSG_NOSIGNAL)); DO(recvmsg(from, &msg, 0));
	DO(shutdown(from, SHUT_RDWR)); DO(close(from)); DO(close(to));
}

static void local_sockets(void)
{
	struct sockaddr_un name = { AF_UNIX, "s" };
	struct msghdr msg = {};
	struct iovec part = { buf, 1 };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} passed = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	int pair[2], server = DO(socket(AF_UNIX, SOCK_STREAM, 0)), client = DO(socket(AF_UNIX, SOCK_STREAM, 0));

	unlink("s");
	DO(bind(server, (struct sockaddr *)&name, sizeof(name))); DO(listen(server, 2));
	DO(connect(client, (struct sockaddr *)&name, sizeof(name)));
	talk(client, DO(accept4(server, NULL, NULL, SOCK_CLOEXEC)));
	DO(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	memcpy(CMSG_DATA(&passed.head), &server, sizeof(server));
	msg = (struct msghdr){ .msg_iov = &part, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof(passed) };
	DO(sendmsg(pair[0], &msg, 0)); DO(recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC));
	memcpy(&client, CMSG_DATA(&passed.head), sizeof(client));
	DO(close(client)); DO(close(pair[0])); DO(close(pair[1])); DO(close(server)); DO(unlink("s"));
}

static void inet_sockets(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in name = { AF_INET, 0, { htonl(INADDR_LOOPBACK) }, {} };
	socklen_t size = sizeof(name), word = sizeof(int);
	int udp = DO(socket(AF_INET, SOCK_DGRAM, 0)), tcp = DO(socket(AF_INET, SOCK_STREAM, 0)), client = DO(socket(AF_INET, SOCK_STREAM, 0));
	struct {
		struct nlmsghdr head;
		struct rtgenmsg of;
	} ask = { { sizeof(ask), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, { AF_UNSPEC } };
	int netlink = DO(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)), on = 1;

	DO(ioctl(udp, SIOCSIFFLAGS, &lo));
	DO(bind(udp, (struct sockaddr *)&name, size)); DO(getsockname(udp, (struct sockaddr *)&name, &size));
	DO(sendto(udp, buf, 2000, 0, (struct sockaddr *)&name, size)); DO(recvfrom(udp, buf, PAGE, 0, NULL, NULL));
	name.sin_port = 0;
	DO(bind(tcp, (struct sockaddr *)&name, size)); DO(listen(tcp, 2)); DO(getsockname(tcp, (struct sockaddr *)&name, &size));
	DO(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))); DO(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &on, &word));
	DO(connect(client, (struct sockaddr *)&name, size));
	talk(client, DO(accept(tcp, NULL, NULL)));
	DO(send(netlink, &ask, sizeof(ask), 0)); DO(recv(netlink, buf, sizeof(buf), 0));
	DO(close(udp)); DO(close(tcp)); DO(close(netlink));
}

static void processes(void)
{
	static char *const args[] = { "sweep_load", "--nothing", NULL };
	struct iovec here = { buf, 8 }, there = { buf, 8 };
	siginfo_t info;
	pid_t child;
	int status, fd;

	DO(posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, args + 2) ? -1 : 0);
	ended_well(child);
	child = DO(fork());
	if (!child) {
		DO(setsid());
		DO(prctl(PR_SET_NAME, "load child")); DO(nice(1)); DO(setgid(1)); DO(setuid(1));
		execve("/proc/self/exe", args, args + 2);
		_exit(1);
	}
	ended_well(child);
	child = DO(fork());
	if (!child) {
		DO(ptrace(PTRACE_TRACEME, 0, 0, 0)); DO(kill(getpid(), SIGSTOP));
		_exit(0);
	}
	DO(waitpid(child, &status, 0));
	fd = DO(syscall(SYS_pidfd_open, child, 0));
	DO(ptrace(PTRACE_SINGLESTEP, child, 0, 0));
	DO(waitpid(child, &status, 0));
	DO(process_vm_readv(child, &here, 1, &there, 1, 0)); DO(process_vm_writev(child, &here, 1, &there, 1, 0));
	DO(ptrace(PTRACE_DETACH, child, 0, 0)); DO(close(fd));
	DO(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	ended_well(child);
	child = DO(fork());
	if (!child)
		for (;;)
			pause();
	DO(kill(child, SIGKILL)); DO(waitpid(child, &status, 0));
}

static void nothing(int nr) { (void)nr; }

static void signals(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct itimerval soon = { {}, { 0, 1000 } };
	struct itimerspec later = { {}, { 0, 1000000 } };
	struct sigaction old;
	sigset_t blocked, before;
	siginfo_t info;
	timer_t timer;
	int fd;

	DO(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = nothing }, &old)); DO(kill(getpid(), SIGUSR1));
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGALRM);
	DO(sigprocmask(SIG_BLOCK, &blocked, &before));
	DO(sigqueue(getpid(), SIGUSR2, (union sigval){ 1 })); DO(sigwaitinfo(&blocked, &info));
	fd = DO(signalfd(-1, &blocked, SFD_CLOEXEC));
	DO(raise(SIGUSR2)); DO(read(fd, buf, sizeof(struct signalfd_siginfo))); DO(close(fd));
	DO(timer_create(CLOCK_MONOTONIC, &event, &timer)); DO(timer_settime(timer, 0, &later, NULL)); DO(sigwaitinfo(&blocked, &info));
	DO(timer_delete(timer)); DO(setitimer(ITIMER_REAL, &soon, NULL)); DO(sigwaitinfo(&blocked, &info));
	DO(sigprocmask(SIG_SETMASK, &before, NULL));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *thread(void *turns)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		++*(int *)turns;
		if (i % 10 == 0)
			sched_yield(); /* who wants the lock waits in the kernel */
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t ids[3];
	cpu_set_t all, one;
	int turns = 0;

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++)
		IS(!pthread_create(&ids[i], NULL, thread, &turns));
	for (int i = 0; i < 3; i++)
		IS(!pthread_join(ids[i], NULL));
	IS(turns == 150);
	DO(sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			DO(sched_setaffinity(0, sizeof(one), &one));
		}
	DO(sched_setaffinity(0, sizeof(all), &all));
	DO(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){})); DO(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){}));
	DO(syscall(SYS_futex, &turns, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0));
}

static void timers(void)
{
	struct itimerspec soon = { {}, { 0, 1000000 } };
	struct timespec brief = { 0, 100000 }, t;
	struct rusage usage;
	struct tms tms;
	int fd = DO(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));

	DO(timerfd_settime(fd, 0, &soon, NULL)); DO(read(fd, buf, 8)); DO(close(fd));
	DO(clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) ? -1 : 0);
	DO(syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t)); DO(syscall(SYS_clock_getres, CLOCK_REALTIME, &t));
	DO(getrusage(RUSAGE_SELF, &usage)); DO(times(&tms));
}

static void polls(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct timeval none = {};
	fd_set set;
	int fd = DO(eventfd(0, EFD_CLOEXEC)), many = DO(epoll_create1(EPOLL_CLOEXEC)), watch = DO(inotify_init1(IN_CLOEXEC));
	struct pollfd one = { fd, POLLIN, 0 };

	DO(epoll_ctl(many, EPOLL_CTL_ADD, fd, &event)); DO(epoll_wait(many, &event, 1, 1));
	DO(write(fd, &(long){ 1 }, 8)); DO(epoll_wait(many, &event, 1, -1)); DO(poll(&one, 1, -1));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	DO(select(fd + 1, &set, NULL, NULL, &none)); DO(epoll_ctl(many, EPOLL_CTL_DEL, fd, NULL)); DO(read(fd, buf, 8));
	DO(inotify_add_watch(watch, ".", IN_CREATE)); DO(close(make("w"))); DO(read(watch, buf, PAGE)); DO(unlink("w"));
	DO(close(fd)); DO(close(many)); DO(close(watch));
}

/*
 * Not /sys/kernel/debug/sched/debug: since "sched/fair: Fix zero_vruntime tracking", 6.12.117
 * has it write to run queues without their lock, and then may find no task to run.
 */
static void reads(void)
{
	static const char *const names[] = {
		"/proc/self/maps", "/proc/self/smaps", "/proc/self/status", "/proc/self/stat", "/proc/self/mountinfo", "/proc/self/limits",
		"/proc/self/cmdline", "/proc/self/wchan", "/proc/self/io", "/proc/self/cgroup", "/proc/stat", "/proc/meminfo", "/proc/vmstat",
		"/proc/zoneinfo", "/proc/buddyinfo", "/proc/slabinfo", "/proc/interrupts", "/proc/softirqs", "/proc/loadavg", "/proc/uptime",
		"/proc/cpuinfo", "/proc/locks", "/proc/timer_list", "/proc/iomem", "/proc/modules", "/proc/net/tcp", "/proc/net/unix",
		"/proc/net/dev", "/proc/sys/kernel/random/uuid", "/proc/sysvipc/shm", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/devices/system/cpu/online", "/sys/class/net/lo/mtu", "/dev/urandom",
	};
	static const char *const folders[] = { "/proc", "/proc/self/fd", "/sys/kernel/mm", "/sys/devices/virtual", "/dev" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int fd = open(names[i], O_RDONLY);

		if (fd < 0)
			continue; /* not of every kernel */
		DO(read(fd, buf, sizeof(buf)));
		DO(close(fd));
	}
	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		int fd = DO(open(folders[i], O_RDONLY | O_DIRECTORY));

		while (DO(syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
			continue;
		DO(close(fd));
	}
}

static void ipc(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 64 };
	struct sembuf up = { 0, 1, 0 }, down = { 0, -1, 0 };
	struct { long type; char text[8]; } msg = { 1, "text" };
	int shm = DO(shmget(IPC_PRIVATE, PAGE, 0600)), sem = DO(semget(IPC_PRIVATE, 1, 0600)), q = DO(msgget(IPC_PRIVATE, 0600));
	int fd = DO(memfd_create("load", MFD_ALLOW_SEALING));
	char name[16];
	mqd_t mq;
	char *at;

	at = (char *)DO(shmat(shm, NULL, 0));
	*at = 1;
	DO(shmdt(at)); DO(shmctl(shm, IPC_RMID, NULL));
	DO(semop(sem, &up, 1)); DO(semop(sem, &down, 1)); DO(semctl(sem, 0, IPC_RMID));
	DO(msgsnd(q, &msg, 8, 0)); DO(msgrcv(q, &msg, 8, 0, 0)); DO(msgctl(q, IPC_RMID, NULL));
	snprintf(name, sizeof(name), "/load%d", getpid());
	mq = DO(mq_open(name, O_RDWR | O_CREAT, 0600, &attr));
	DO(mq_send(mq, "text", 5, 1)); DO(mq_receive(mq, buf, 64, NULL)); DO(mq_close(mq)); DO(mq_unlink(name));
	DO(ftruncate(fd, PAGE)); DO(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)); DO(close(fd));
}

static void keys(void)
{
	long key = DO(syscall(SYS_add_key, "user", "load", "secret", 6, KEY_SPEC_PROCESS_KEYRING));

	DO(syscall(SYS_keyctl, KEYCTL_READ, key, buf, 10)); DO(syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, buf, 100));
	DO(syscall(SYS_keyctl, KEYCTL_UPDATE, key, "other", 5)); DO(syscall(SYS_request_key, "user", "load", NULL, 0));
	DO(syscall(SYS_keyctl, KEYCTL_REVOKE, key)); DO(syscall(SYS_keyctl, KEYCTL_CLEAR, KEY_SPEC_PROCESS_KEYRING));
}

static void namespaces(void)
{
	pid_t child = DO(fork());

	if (child) {
		ended_well(child);
		return;
	}
	DO(unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP));
	DO(sethostname("load", 4)); DO(mkdir("mnt", 0700)); DO(mount("none", "mnt", "tmpfs", 0, NULL));
	DO(mount(NULL, "mnt", NULL, MS_PRIVATE | MS_REC, NULL)); DO(chdir("mnt")); DO(close(make("x")));
	child = DO(fork());
	if (!child)
		_exit(getpid() != 1);
	ended_well(child);
	DO(chdir("..")); DO(umount("mnt")); DO(rmdir("mnt")); DO(unshare(CLONE_NEWUSER)); DO(chroot("."));
	_exit(0);
}

/* Gives a text to one of the kernel's switches; not every kernel has it. */
static void set(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0)
		return;
	DO(write(fd, text, strlen(text)));
	DO(close(fd));
}

static void memory(void)
{
	char *at = (char *)DO(mmap(NULL, 512 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct sysinfo info;

	madvise(at, 512 * PAGE, MADV_HUGEPAGE); /* there are none on PREEMPT_RT */
	DO(madvise(at, 512 * PAGE, MADV_POPULATE_WRITE));
	DO(munmap(at, 512 * PAGE));
	set("/proc/sys/vm/drop_caches", "3");
	set("/proc/sys/vm/compact_memory", "1");
	set("/proc/self/clear_refs", "1");
	DO(sysinfo(&info));
}

static void others(void)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 4, .max_entries = 4 }, at = {};
	struct perf_event_attr counter = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(counter), .config = PERF_COUNT_SW_PAGE_FAULTS };
	struct io_uring_params rings = {};
	int one = 1, fd, pty;
	pid_t child;

	fd = DO(syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
	at.map_fd = fd;
	at.key = at.value = (unsigned long)&one;
	DO(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &at, sizeof(at))); DO(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &at, sizeof(at)));
	DO(close(fd));
	fd = DO(syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0));
	DO(read(fd, buf, 8)); DO(close(fd));
	child = DO(fork()); /* what a ring leaves to be done interrupts its process */
	if (!child) {
		fd = syscall(SYS_io_uring_setup, 2, &rings); /* it may be forbidden */
		_exit(fd >= 0 && syscall(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0));
	}
	ended_well(child);
	pty = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (pty >= 0) {
		DO(write(pty, "text", 4)); DO(ioctl(pty, TIOCGWINSZ, buf)); DO(close(pty));
	}
	DO(syscall(SYS_getrandom, buf, 100, 0)); DO(syscall(SYS_uname, buf)); DO(umask(umask(022)));
	DO(syscall(SYS_membarrier, 0, 0, 0)); DO(syscall(SYS_getcpu, &one, NULL, NULL)); DO(getppid());
}

/* Each with the system calls that it makes on every kernel that has them, and what else it comes by. */
static const struct {
	void (*run)(void);
	const char *calls, *others;
} jobs[] = {
	{ files,
	  "openat write pwritev lseek read preadv copy_file_range sendfile64 fallocate ftruncate truncate fsync fdatasync "
	  "flock fcntl fchmod fchown utimensat access fsetxattr link symlink readlink rename renameat2 statfs statx mkdir "
	  "rmdir dup close unlink",
	  "vfs_read vfs_write vfs_fallocate vfs_truncate vfs_mkdir vfs_rmdir vfs_link vfs_symlink vfs_rename vfs_unlink "
	  "vfs_mknod" },
	{ mapped, "mmap munmap msync mincore mprotect mlock munlock madvise mremap brk clone", "t:mm_page_alloc" },
	{ pipes, "pipe2 vmsplice tee splice ioctl", "" },
	{ local_sockets, "socket bind listen connect accept4 socketpair sendmsg recvmsg shutdown", "" },
	{ inet_sockets, "sendto recvfrom getsockname setsockopt getsockopt accept", "t:net_dev_queue t:inet_sock_set_state" },
	{ processes,
	  "clone3 wait4 waitid ptrace pidfd_open process_vm_readv process_vm_writev setgid setuid prctl execve",
	  "t:sched_process_fork t:sched_process_exec t:sched_process_exit t:task_newtask" },
	{ signals,
	  "rt_sigaction rt_sigprocmask rt_sigqueueinfo rt_sigtimedwait signalfd4 kill tgkill timer_create timer_settime "
	  "timer_delete setitimer",
	  "t:signal_generate" },
	{ threads,
	  "futex sched_setaffinity sched_getaffinity sched_setscheduler set_robust_list",
	  "t:sched_switch t:sched_wakeup t:sched_migrate_task" },
	{ timers, "timerfd_create timerfd_settime clock_nanosleep clock_gettime clock_getres getrusage times", "t:hrtimer_start" },
	{ polls, "eventfd2 epoll_create1 epoll_ctl epoll_wait poll pselect6 inotify_init1 inotify_add_watch", "" },
	{ reads, "getdents64", "t:sys_enter t:sys_exit" },
	{ ipc,
	  "shmget shmat shmdt shmctl semget semctl msgget msgsnd msgrcv msgctl mq_open mq_timedsend mq_timedreceive "
	  "mq_unlink memfd_create",
	  "" },
	{ keys, "add_key keyctl request_key", "" },
	{ namespaces, "unshare sethostname mount umount chdir chroot", "" },
	{ memory, "sysinfo", "t:kmalloc t:kfree" },
	{ others, "bpf perf_event_open io_uring_setup getrandom newuname umask membarrier getcpu", "" },
};
enum { JOBS = sizeof(jobs) / sizeof(*jobs) };

/* Both begin elsewhere in the table, so that they do not stay together. */
static void work(int nr, int rounds, const volatile char *end)
{
	DO(prctl(PR_SET_PDEATHSIG, SIGKILL));
	snprintf(dir, sizeof(dir), "load-%d", nr);
	mkdir(dir, 0700);
	DO(chdir(dir));
	for (unsigned long round = 1; !*end; round++) {
		for (int i = 0; i < JOBS && !*end; i++)
			jobs[(i + nr * JOBS / WORKERS) % JOBS].run();
		snprintf(buf, sizeof(buf), "%7lu%c", round, nr + 1 < WORKERS ? ' ' : '\n');
		DO(pwrite(rounds, buf, WIDTH, nr * WIDTH));
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	char *end = (char *)DO(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	sigset_t awaited;
	int rounds, status, sig;

	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "--reached")) {
		for (int i = 0; i < JOBS; i++) {
			char *calls = strdup(jobs[i].calls);

			for (char *call = strtok(calls, " "); call; call = strtok(NULL, " "))
				printf("__x64_sys_%s ", call);
			puts(jobs[i].others);
		}
		return 0;
	}
	if (argc != 2)
		return 2;
	rounds = DO(open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600)); /* it is never empty for whoever reads it */
	DO(write(rounds, "      0       0\n", WORKERS * WIDTH));
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGINT);
	sigaddset(&awaited, SIGCHLD);
	DO(sigprocmask(SIG_BLOCK, &awaited, NULL)); /* of the workers, too: no call of theirs is interrupted */
	for (int nr = 0; nr < WORKERS; nr++)
		if (!DO(fork()))
			work(nr, rounds, end);
	IS(!sigwait(&awaited, &sig));
	*end = 1;
	for (int nr = 0; nr < WORKERS; nr++) {
		DO(wait(&status));
		if (status) {
			DO(ftruncate(rounds, 0)); /* for whoever waits for a round */
			return 1;
		}
	}
	return sig == SIGCHLD; /* none ends by itself */
}
