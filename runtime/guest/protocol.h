/* SPDX-License-Identifier: MIT
 *
 * What the host (relay.cpp) and the guest's init (init.c) say to each other, and how the image (image.cpp)
 * tells init what to run.
 *
 * Ports: four ISA serial ports, because they are built into every distribution kernel.
 *   ttyS0 console, ttyS1 the program's stdout, ttyS2 its stderr, ttyS3 control.
 *
 * Guest to host on control, one line each; a line starts with one of the KPL_SAY_* words. After KPL_SAY_FILE
 * ("file SIZE PATH") follow exactly SIZE raw bytes. KPL_SAY_DONE is the final marker: all streams are
 * drained. Host to guest on control: single bytes, KPL_ASK_*; text behind one of them where it says so.
 *
 * KPL_CONFIG_PATH holds NUL-terminated "key=value" items, keys KPL_KEY_*; order matters for arguments alone.
 */
#ifndef KPL_GUEST_PROTOCOL_H
#define KPL_GUEST_PROTOCOL_H

#define KPL_TTY_CONSOLE "/dev/ttyS0"
#define KPL_TTY_STDOUT "/dev/ttyS1"
#define KPL_TTY_STDERR "/dev/ttyS2"
#define KPL_TTY_CONTROL "/dev/ttyS3"

#define KPL_SAY_UP "up"       /* init runs, the file systems are mounted, the module is loaded */
#define KPL_SAY_FAIL "fail"   /* "fail TEXT": init can't go on */
#define KPL_SAY_EXIT "exit"   /* "exit N": the program ended, N as a shell's $? */
#define KPL_SAY_LEFT "left"   /* "left TEXT": something of ours stayed behind in the kernel */
#define KPL_SAY_FILE "file"   /* "file SIZE PATH", then the bytes of a file that the host asked for */
#define KPL_SAY_ALIVE "alive" /* the answer to KPL_ASK_ALIVE */
#define KPL_SAY_DONE "done"   /* the final marker */

#define KPL_ASK_INT 'I'          /* SIGINT to the program's process group, as a terminal's ^C */
#define KPL_ASK_TERM 'T'         /* SIGTERM to the program */
#define KPL_ASK_USR1 'U'         /* SIGUSR1 to the program */
#define KPL_ASK_CLOSE_STDOUT 'o' /* the host's stdout is gone: let the program see a broken pipe */
#define KPL_ASK_CLOSE_STDERR 'e'
#define KPL_ASK_ALIVE 'p'
#define KPL_ASK_WINDOW 'w' /* and "ROWS COLUMNS\n": the terminal has this size now */

#define KPL_COMMANDS "/.kpl/bin" /* first in PATH: links to the programs that were added */
#define KPL_CONFIG_PATH "/.kpl/config"
#define KPL_KEY_PROGRAM "program"  /* path to execute */
#define KPL_KEY_ARG "arg"          /* repeated, argv[0] first */
#define KPL_KEY_ENV "env"          /* repeated, NAME=VALUE */
#define KPL_KEY_CWD "cwd"          /* where the program starts */
#define KPL_KEY_MODULE "module"    /* repeated: a kernel module to load before and to unload after the run */
#define KPL_KEY_ADDED "added"      /* repeated: a kernel module of the user's to load after these; it stays */
#define KPL_KEY_STDIN "stdin"      /* a file to read from; default /dev/null */
#define KPL_KEY_TTY "tty"          /* "1": stdout is a terminal; "2": stderr is one; repeated */
#define KPL_KEY_KEYBOARD "keyboard" /* "1": what comes in by the port of stdout is the program's stdin, its terminal */
#define KPL_KEY_WINDOW "window"    /* "ROWS COLUMNS" of those terminals */
#define KPL_KEY_ONE_STREAM "merge" /* "1": stderr goes where stdout goes, so their order is kept */
#define KPL_KEY_FETCH "fetch"      /* repeated: a file to hand back when the program has ended */
#define KPL_KEY_MODULE_PARAM "param" /* parameters of the last module named */

#endif
