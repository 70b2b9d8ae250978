// SPDX-License-Identifier: MIT
// The first process of the throwaway VM: mounts, loads the module, runs one program, relays its output, looks
// for what stayed behind, says so. Static C without a library but libc's: it is all that is in the guest for
// certain.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

enum { MAX_ARGS = 4096, MAX_FEW = 64 };

// A serial port takes half a megabyte a second. What the program writes faster waits in its pipe, not in the
// program, which would lose events meanwhile.
enum { PIPE_BYTES = 16 << 20 };

struct module {
    const char* path;
    const char* param;
    bool stays;  // the user's: not ours to unload
};

struct config {
    const char* program;
    const char* cwd;
    const char* input;
    const char* window;
    char* args[MAX_ARGS + 1];
    char* env[MAX_ARGS + 1];
    struct module modules[MAX_FEW];
    const char* fetch[MAX_FEW];
    int args_count, env_count, modules_count, fetch_count;
    bool tty[3];  // by file descriptor
    bool merge;
    bool keyboard;  // stdout's terminal is stdin, too, and the program's own
};

// One of the program's output streams. `from` is the pipe's read end, or -1: the program writes to the port
// itself (a terminal), or the stream has ended.
struct stream {
    int from, to;
    bool blocked;  // the port is full: wait for it, not for the pipe
};

static int control = -1;

// ---- saying and asking ----

static void write_all(int fd, const char* data, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

__attribute__((format(printf, 2, 3))) static void say(const char* word, const char* format, ...) {
    char line[1024];
    int n = snprintf(line, sizeof(line), "%s ", word);
    va_list args;
    va_start(args, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
    va_end(args);
    if (n > (int)sizeof(line) - 2) n = sizeof(line) - 2;
    for (int i = 0; i < n; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[n++] = '\n';
    write_all(control, line, (size_t)n);
}

// PID 1 must not end: the kernel would panic. The host ends the machine when it has read the final marker.
static void finish(void) {
    say(KPL_SAY_DONE, "%s", "");
    tcdrain(control);
    for (;;) pause();
}

__attribute__((format(printf, 1, 2))) static void fail(const char* format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say(KPL_SAY_FAIL, "%s", text);
    finish();
}

// A raw port: bytes pass unchanged, no echo. Opened without becoming anybody's controlling terminal.
static int open_port(const char* path) {
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct termios raw;
    if (fd < 0 || tcgetattr(fd, &raw) < 0) return fd;
    cfmakeraw(&raw);
    cfsetspeed(&raw, B115200);
    raw.c_cflag |= CLOCAL | CREAD;
    tcsetattr(fd, TCSANOW, &raw);
    return fd;
}

// ---- setting up ----

// Over directories that the image holds no files in; the root itself is memory and writable.
static void mount_file_systems(void) {
    static const struct {
        const char *type, *where, *options;
    } table[] = {
        {"devtmpfs", "/dev", NULL},
        {"proc", "/proc", NULL},
        {"sysfs", "/sys", NULL},
        {"debugfs", "/sys/kernel/debug", NULL},
        {"tracefs", "/sys/kernel/tracing", NULL},
        {"cgroup2", "/sys/fs/cgroup", NULL},
        {"devpts", "/dev/pts", "mode=0620"},
        {"tmpfs", "/dev/shm", "mode=1777"},
    };
    static const char* const links[][2] = {
        {"/proc/self/fd", "/dev/fd"},
        {"/proc/self/fd/0", "/dev/stdin"},
        {"/proc/self/fd/1", "/dev/stdout"},
        {"/proc/self/fd/2", "/dev/stderr"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        mkdir(table[i].where, 0755);
        mount(table[i].type, table[i].where, table[i].type, 0, table[i].options);
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (symlink(links[i][0], links[i][1]) < 0 && errno != EEXIST) return;
}

static void loopback_up(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    if (fd < 0) return;
    if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags |= IFF_UP | IFF_RUNNING;
        ioctl(fd, SIOCSIFFLAGS, &request);
    }
    close(fd);
}

static const char* value_of(const char* item, const char* key) {
    size_t n = strlen(key);
    return strncmp(item, key, n) == 0 && item[n] == '=' ? item + n + 1 : NULL;
}

static void take_item(struct config* c, char* item) {
    const char* v;
    if ((v = value_of(item, KPL_KEY_PROGRAM)))
        c->program = v;
    else if ((v = value_of(item, KPL_KEY_CWD)))
        c->cwd = v;
    else if ((v = value_of(item, KPL_KEY_STDIN)))
        c->input = v;
    else if ((v = value_of(item, KPL_KEY_WINDOW)))
        c->window = v;
    else if ((v = value_of(item, KPL_KEY_KEYBOARD)))
        c->keyboard = *v == '1';
    else if ((v = value_of(item, KPL_KEY_ONE_STREAM)))
        c->merge = *v == '1';
    else if ((v = value_of(item, KPL_KEY_TTY)) && (*v == '1' || *v == '2'))
        c->tty[*v - '0'] = true;
    else if ((v = value_of(item, KPL_KEY_ARG)) && c->args_count < MAX_ARGS)
        c->args[c->args_count++] = (char*)v;
    else if ((v = value_of(item, KPL_KEY_ENV)) && c->env_count < MAX_ARGS)
        c->env[c->env_count++] = (char*)v;
    else if ((v = value_of(item, KPL_KEY_MODULE)) && c->modules_count < MAX_FEW)
        c->modules[c->modules_count++] = (struct module){v, "", false};
    else if ((v = value_of(item, KPL_KEY_ADDED)) && c->modules_count < MAX_FEW)
        c->modules[c->modules_count++] = (struct module){v, "", true};
    else if ((v = value_of(item, KPL_KEY_MODULE_PARAM)) && c->modules_count > 0)
        c->modules[c->modules_count - 1].param = v;
    else if ((v = value_of(item, KPL_KEY_FETCH)) && c->fetch_count < MAX_FEW)
        c->fetch[c->fetch_count++] = v;
    else
        fail("init does not know or can't take '%.100s'", item);
}

// The items point into the file's bytes, which stay allocated.
static void read_config(struct config* c) {
    struct stat st;
    int fd = open(KPL_CONFIG_PATH, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) fail("no %s in the image", KPL_CONFIG_PATH);
    char* bytes = calloc(1, (size_t)st.st_size + 1);
    if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size) fail("can't read %s", KPL_CONFIG_PATH);
    close(fd);
    for (char *p = bytes, *end = bytes + st.st_size; p < end; p += strlen(p) + 1) take_item(c, p);
    if (!c->program || c->args_count == 0) fail("the image names no program");
}

static const char* module_name(const char* path, char* name, size_t size) {
    const char* base = strrchr(path, '/');
    snprintf(name, size, "%s", base ? base + 1 : path);
    name[strcspn(name, ".")] = '\0';
    return name;
}

static void load_modules(const struct config* c) {
    for (int i = 0; i < c->modules_count; i++) {
        int fd = open(c->modules[i].path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || syscall(SYS_finit_module, fd, c->modules[i].param, 0) < 0)
            fail("the VM's kernel does not load %s: %s", c->modules[i].path, strerror(errno));
        close(fd);
    }
}

// ---- the program ----

static int open_tty(const char* path, const char* window) {
    int fd = open_port(path);
    struct winsize size = {0};
    fcntl(fd, F_SETFL, 0);  // a program expects its terminal to block
    if (window && sscanf(window, "%hu %hu", &size.ws_row, &size.ws_col) == 2) ioctl(fd, TIOCSWINSZ, &size);
    return fd;
}

// As terminals are before a program changes them.
static void make_sane(int fd) {
    struct termios modes;
    if (tcgetattr(fd, &modes) < 0) return;
    modes.c_iflag = ICRNL | IXON | IUTF8;
    modes.c_oflag = OPOST | ONLCR;
    modes.c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
    tcsetattr(fd, TCSANOW, &modes);
}

// The end that the program writes to; `stream` gets the other one.
static int open_stream(struct stream* stream, const char* port, bool tty, const char* window) {
    int ends[2];
    stream->to = open_port(port);
    stream->from = -1;
    if (tty) return open_tty(port, window);
    if (pipe2(ends, O_CLOEXEC) < 0) fail("pipe: %s", strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    stream->from = ends[0];
    return ends[1];
}

static void run_child(const struct config* c, int out, int err) {
    sigset_t none;
    int in = open(c->input ? c->input : "/dev/null", O_RDONLY);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (c->keyboard) {
        close(in);
        in = dup(out);
        make_sane(in);
        ioctl(in, TIOCSCTTY, 0);  // ^C and the window's changes are for the program
    }
    if (in != 0) dup2(in, 0), close(in);
    dup2(out, 1);
    dup2(err, 2);
    if (c->cwd && chdir(c->cwd) < 0) dprintf(2, "%s: %s\n", c->cwd, strerror(errno));
    execve(c->program, c->args, c->env);
    dprintf(2, "%s: %s\n", c->program, strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

// Returns when the program has been executed: a signal sent from then on reaches it and its process group.
static pid_t start(const struct config* c, struct stream* streams) {
    int executed[2];
    char nothing;
    int out = open_stream(&streams[0], KPL_TTY_STDOUT, c->tty[1], c->window);
    int err = c->merge ? out : open_stream(&streams[1], KPL_TTY_STDERR, c->tty[2], c->window);
    pid_t pid = pipe2(executed, O_CLOEXEC) < 0 ? -1 : fork();
    if (pid < 0) fail("fork: %s", strerror(errno));
    if (pid == 0) run_child(c, out, err);
    close(executed[1]);
    while (read(executed[0], &nothing, 1) < 0 && errno == EINTR) continue;
    close(executed[0]);
    close(out);
    if (err != out) close(err);
    return pid;
}

// splice() and not read() and write(): what a script most likely probes (vfs_read, vfs_write) is not hit by
// us, so output about such hits does not make more of them.
static void relay(struct stream* s) {
    for (;;) {
        ssize_t n = splice(s->from, NULL, s->to, NULL, 65536, SPLICE_F_NONBLOCK);
        if (n > 0) continue;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            int queued = 0;
            ioctl(s->from, FIONREAD, &queued);
            s->blocked = queued > 0;
            return;
        }
        if (n < 0) fail("relaying the program's output: %s", strerror(errno));
        close(s->from);
        s->from = -1;
        return;
    }
}

static void drop(struct stream* s) {
    if (s->from >= 0) close(s->from);
    s->from = -1;
}

// "ROWS COLUMNS" byte by byte, up to a newline. True while it goes on.
static bool take_window(char byte, int tty) {
    static char text[16];
    static size_t size;
    struct winsize window = {0};
    if (byte == KPL_ASK_WINDOW) {
        size = 1;
        return true;
    }
    if (size == 0) return false;
    if (byte != '\n') {
        if (size < sizeof(text)) text[size++ - 1] = byte;
        return true;
    }
    text[size - 1] = '\0';
    size = 0;
    if (sscanf(text, "%hu %hu", &window.ws_row, &window.ws_col) == 2) ioctl(tty, TIOCSWINSZ, &window);
    return true;
}

static void obey(pid_t program, struct stream* streams) {
    char asked[64];
    ssize_t n = read(control, asked, sizeof(asked));
    for (ssize_t i = 0; i < n; i++) {
        if (take_window(asked[i], streams[0].to)) continue;
        switch (asked[i]) {
            case KPL_ASK_INT:
                kill(-program, SIGINT);
                break;
            case KPL_ASK_TERM:
                kill(program, SIGTERM);
                break;
            case KPL_ASK_USR1:
                kill(program, SIGUSR1);
                break;
            case KPL_ASK_CLOSE_STDOUT:
                drop(&streams[0]);
                break;
            case KPL_ASK_CLOSE_STDERR:
                drop(&streams[1]);
                break;
            case KPL_ASK_ALIVE:
                say(KPL_SAY_ALIVE, "%s", "");
                break;
            default:
                break;
        }
    }
}

// Reaps what has ended, orphans too. True when `program` was among it.
static bool reap(pid_t program, int* status) {
    bool ended = false;
    for (;;) {
        int s;
        pid_t pid = waitpid(-1, &s, WNOHANG);
        if (pid <= 0) return ended;
        if (pid != program) continue;
        ended = true;
        *status = WIFSIGNALED(s) ? 128 + WTERMSIG(s) : WEXITSTATUS(s);
    }
}

// Relays until the program has ended or, with `program` 0, until the streams have.
static int relay_until(pid_t program, int children, struct stream* streams) {
    int status = 0;
    for (;;) {
        struct pollfd fds[4] = {{.fd = children, .events = POLLIN}, {.fd = control, .events = POLLIN}};
        for (int i = 0; i < 2; i++) {
            struct stream* s = &streams[i];
            fds[2 + i].fd = s->from < 0 ? -1 : s->blocked ? s->to : s->from;
            fds[2 + i].events = s->blocked ? POLLOUT : POLLIN;
        }
        if (!program && streams[0].from < 0 && streams[1].from < 0) return 0;
        if (poll(fds, 4, -1) < 0) continue;
        for (int i = 0; i < 2; i++)
            if (fds[2 + i].revents) streams[i].blocked = false, relay(&streams[i]);
        if (fds[1].revents) obey(program ? program : INT_MAX, streams);
        if (fds[0].revents) {
            struct signalfd_siginfo info;
            if (read(children, &info, sizeof(info)) > 0 && reap(program, &status) && program) return status;
        }
    }
}

// ---- afterwards ----

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

// A line of the kernel's lists of armed kprobes and of functions with a tracer attached; false when both are
// empty, but for what the stubs' module keeps there.
static bool first_probe(char* line, int size) {
    static const char* const lists[] = {"/sys/kernel/debug/kprobes/list",
                                        "/sys/kernel/tracing/enabled_functions"};
    bool found = false;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !found; i++) {
        FILE* list = fopen(lists[i], "re");
        while (list && !found && fgets(line, size, list)) found = !strstr(line, "kpl_kept");  // kmod/kept.c
        if (list) fclose(list);
    }
    return found;
}

// Unregistering waits for grace periods, and the program's end does not wait for that: allow it two seconds.
static void report_left_probes(void) {
    char line[256];
    for (int tries = 0; first_probe(line, sizeof(line)); tries++) {
        if (tries == 40) {
            line[strcspn(line, "\n")] = '\0';
            say(KPL_SAY_LEFT, "a probe is still armed: %s", line);
            return;
        }
        sleep_ms(50);
    }
}

static bool loaded(const char* name) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/module/%s", name);
    return access(path, F_OK) == 0;
}

static void unload_modules(const struct config* c) {
    for (int i = c->modules_count - 1; i >= 0; i--) {
        char name[64];
        if (c->modules[i].stays) continue;
        module_name(c->modules[i].path, name, sizeof(name));
        int tries = 0;
        while (loaded(name) && syscall(SYS_delete_module, name, O_NONBLOCK) < 0) {
            if (++tries == 100) {  // what was called through stubs may have to return first
                say(KPL_SAY_LEFT, "the module %s can't be unloaded: %s", name, strerror(errno));
                break;
            }
            sleep_ms(50);
        }
    }
}

static void hand_back(const char* path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char bytes[4096];
        off_t left = st.st_size;
        say(KPL_SAY_FILE, "%lld %s", (long long)left, path);
        while (left > 0) {
            ssize_t n = read(fd, bytes, left < (off_t)sizeof(bytes) ? (size_t)left : sizeof(bytes));
            if (n <= 0)
                memset(bytes, 0, sizeof(bytes)),
                    n = left < (off_t)sizeof(bytes) ? left : (off_t)sizeof(bytes);
            write_all(control, bytes, (size_t)n);
            left -= n;
        }
    }
    close(fd);
}

int main(void) {
    static struct config config;
    struct stream streams[2] = {{-1, -1, false}, {-1, -1, false}};
    sigset_t child;

    umask(022);
    mount_file_systems();
    while (open("/dev/null", O_RDWR | O_CLOEXEC) <= 2)
        continue;  // keep 0 to 2 taken, whatever the kernel gave us
    control = open_port(KPL_TTY_CONTROL);
    loopback_up();
    read_config(&config);
    load_modules(&config);
    say(KPL_SAY_UP, "%s", "");

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

    int status = relay_until(start(&config, streams), children, streams);
    report_left_probes();
    kill(-1, SIGKILL);  // what it left running holds the pipes open
    relay_until(0, children, streams);
    for (int i = 0; i < 2; i++)
        if (streams[i].to >= 0) tcdrain(streams[i].to);
    unload_modules(&config);
    for (int i = 0; i < config.fetch_count; i++) hand_back(config.fetch[i]);
    say(KPL_SAY_EXIT, "%d", status);
    finish();
}
