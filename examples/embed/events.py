#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events of a kprobe-lua script as Python dictionaries.

    sudo ./events.py examples/opensnoop.lua [COUNT]     prints the script's events as they come

As a module: with Session() as s: s.load(code); s.arm(); for event in s.events(): ...
"""
import ctypes
import sys

NIL, BOOL, INT, UINT, POINTER, SYMBOL, STRING, KSTACK, USTACK, NAMED, INET, LIST, USYMBOL = range(13)

lib = ctypes.CDLL("libkprobe-lua.so.0")


class Value(ctypes.Structure):
    class As(ctypes.Union):
        _fields_ = [("number", ctypes.c_int64), ("address", ctypes.c_uint64), ("bytes", ctypes.c_void_p),
                    ("frames", ctypes.POINTER(ctypes.c_uint64))]

    _fields_ = [("type", ctypes.c_uint16), ("element", ctypes.c_uint16), ("length", ctypes.c_uint32), ("value", As)]


class FieldInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("type", ctypes.c_uint32),
                ("limit", ctypes.c_uint32), ("may_be_nil", ctypes.c_int)]


TEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
NOTE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
LOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)
RECORD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("text", TEXT), ("note", NOTE), ("lost", LOST)]


for name in ("klua_error_text", "klua_event_name"):
    getattr(lib, name).restype = ctypes.c_char_p
lib.klua_record_time.restype = ctypes.c_uint64


class Error(Exception):
    """What the library had to say: a line for each error, with file and line."""


class Session:
    def __init__(self, text=sys.stdout.write, note=lambda line: print(line, file=sys.stderr)):
        # Kept here: the library calls them for as long as the session is open.
        self.calls = (TEXT(lambda _, at, n: 0 if text(ctypes.string_at(at, n).decode(errors="replace")) is not False else 1),
                      NOTE(lambda _, kind, line: note(line.decode(errors="replace"))), LOST())
        self.raw = ctypes.c_void_p()
        callbacks = Callbacks(ctypes.sizeof(Callbacks), None, *self.calls)
        self._done(lib.klua_open(ctypes.byref(callbacks), ctypes.byref(self.raw)))
        self.subscribed, self.queue = {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.klua_close(self.raw)
        self.raw = None

    def _done(self, number):
        if number < 0:
            raise Error(lib.klua_error_text(self.raw).decode(errors="replace"))
        return number

    def load(self, code, name="script", args=()):
        words = (ctypes.c_char_p * len(args))(*[a.encode() for a in args])
        code = code.encode()
        self._done(lib.klua_load_string(self.raw, code, ctypes.c_size_t(len(code)), name.encode(), len(args), words))

    def arm(self):
        self._done(lib.klua_arm(self.raw))
        for event in range(self._done(lib.klua_event_count(self.raw))):
            if event not in self.subscribed and lib.klua_field_count(self.raw, event) >= 0:
                self._subscribe(event)

    def _subscribe(self, event):
        names = []
        info = FieldInfo(ctypes.sizeof(FieldInfo))
        for position in range(lib.klua_field_count(self.raw, event)):
            self._done(lib.klua_field(self.raw, event, position, ctypes.byref(info)))
            names.append(info.name.decode())

        def take(_, record):
            value = Value()
            row = {"time": lib.klua_record_time(ctypes.c_void_p(record))}
            for position, field in enumerate(names):
                lib.klua_record_value(ctypes.c_void_p(record), position, ctypes.byref(value))
                row[field] = self._python(value, record, position)
            self.queue.append(row)
            return 0

        self.subscribed[event] = RECORD(take)
        self._done(lib.klua_subscribe(self.raw, event, self.subscribed[event], None))

    def _python(self, value, record, position):
        if value.type == NIL:
            return None
        if value.type == STRING:
            return ctypes.string_at(value.value.bytes, value.length).decode(errors="replace")
        if value.type in (KSTACK, USTACK, USYMBOL):
            return [value.value.frames[i] for i in range(value.length)]
        if value.type == LIST:
            at, element, elements = ctypes.c_uint32(), Value(), []
            while lib.klua_list_next(ctypes.byref(value), ctypes.byref(at), ctypes.byref(element)) > 0:
                elements.append(self._python(element, None, 0))
            return elements
        if value.type in (SYMBOL, NAMED, INET) and record:
            text = ctypes.create_string_buffer(256)
            lib.klua_record_text(ctypes.c_void_p(record), position, text, ctypes.c_size_t(256))
            return text.value.decode(errors="replace")
        if value.type == BOOL:
            return value.value.number != 0
        return value.value.address if value.type in (UINT, POINTER) else value.value.number

    def events(self):
        """Each event as a dictionary, until the script ends."""
        while not lib.klua_ended(self.raw, None):
            self._done(lib.klua_poll(self.raw, 200, 20))
            queue, self.queue = self.queue, []
            yield from queue


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: events.py SCRIPT [COUNT]")
    left = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    with Session(text=lambda text: None) as session:
        with open(sys.argv[1], encoding="utf-8") as script:
            session.load(script.read(), sys.argv[1])
        session.arm()
        print("armed", file=sys.stderr, flush=True)
        for event in session.events():
            print(event, flush=True)
            left -= 1
            if left == 0:
                break


if __name__ == "__main__":
    try:
        main()
    except Error as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
