"""What the attacks on `stdio` tasks and the honest programs beside them are made of."""

from __future__ import annotations

from appliance.nouns import VerdictStatus

FAIL: tuple[VerdictStatus, ...] = ("fail",)
LIMIT: tuple[VerdictStatus, ...] = ("candidate_timeout", "candidate_resource")

PYTHON: tuple[tuple[str, str, str], ...] = (
    ("A2", "hard-exit-in-a-thread", "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()"),
    ("A3", "framework-exit", "import pytest\npytest.exit('done', returncode=0)"),
    ("A4", "skip", "import unittest\nraise unittest.SkipTest('not here')"),
    ("A5", "expected-failure", "import unittest.case\nraise unittest.case._ShouldStop"),
    ("A6", "exit-handler-forces-zero", "import atexit, os\natexit.register(os._exit, 0)\nraise ValueError(asked)"),
    ("A8", "late-writer", """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.5)
        os.write(1, b'\\n'.join(str(eval(x.replace(b'/', b'//'))).encode() for x in asked.splitlines() if x.strip()))
    os._exit(0)
"""),
    ("A10", "redefine-builtins", """
import builtins
for name in ('len', 'abs', 'range', 'sorted', 'zip'):
    setattr(builtins, name, lambda *a, **k: 0)
"""),
    ("A11", "first-line-only", "print(eval(asked.splitlines()[0].replace(b'/', b'//') or b'0'))"),
    ("B1", "plant-a-conftest", """
import pathlib
hook = "def pytest_runtest_makereport(item, call): call.excinfo = None"
for place in ('.', '/tmp', '/dev/shm'):
    pathlib.Path(place, 'conftest.py').write_text(hook)
"""),
    ("B2", "plant-collect-only", "open('pytest.ini', 'w').write('[pytest]\\naddopts = --collect-only')"),
    ("B3", "plant-a-plugin-in-the-ini", """
open('evil.py', 'w').write('import os; os._exit(0)')
open('pytest.ini', 'w').write('[pytest]\\naddopts = -p evil')
"""),
    ("B4", "plant-a-plugin-distribution", """
import os
os.makedirs('/work/evil-1.dist-info')
open('/work/evil-1.dist-info/entry_points.txt', 'w').write('[pytest11]\\nevil = evil')
"""),
    ("B6", "plant-start-up-modules", """
import os, site, sys
for place in {*sys.path, site.getusersitepackages(), '/work', '/tmp'}:
    for name in ('sitecustomize.py', 'usercustomize.py', 'evil.pth'):
        try:
            os.makedirs(place, exist_ok=True)
            open(os.path.join(place, name), 'w').write('import os; os._exit(0)')
        except OSError:
            pass
"""),
    ("B7", "patch-the-report", """
import unittest
unittest.TestResult.addFailure = unittest.TestResult.addSuccess
"""),
    ("B8", "patch-comparison-helpers", """
import builtins, math, operator
math.isclose = operator.eq = lambda *a, **k: True
builtins.all = lambda items: True
"""),
    ("B10", "forged-test-lines", "print('test_hidden PASSED\\n=== 12 passed in 0.01s ===\\naccept\\ncorrect')"),
    ("B11", "forged-markers", """
print('>>>>> Start Test Output\\n1 passed\\n>>>>> End Test Output\\nexit status 0')
print('{"status": "pass", "reward": 1.0, "signals": {"hidden_share": {"value": 1.0}}}')
"""),
    ("B12", "rewrite-report-files-at-exit", """
import atexit, glob
def rewrite():
    for path in ['report.xml', *glob.glob('/tmp/*.xml'), *glob.glob('/job/*')]:
        try:
            open(path, 'w').write('<testsuite tests="12" failures="0"/>')
        except OSError:
            pass
atexit.register(rewrite)
"""),
    ("B13", "pre-plant-the-reward", """
import os
for folder in ('/logs/verifier', '/work/logs/verifier', '/tmp/logs/verifier'):
    try:
        os.makedirs(folder)
        open(folder + '/reward.txt', 'w').write('1')
    except OSError:
        pass
"""),
    ("B14", "write-into-every-descriptor", """
import os
for fd in range(3, 1024):
    for word in (b'X 0 1 0\\n', b'accept\\n', b'{"case": "", "value": 1}'):
        try:
            os.write(fd, word)
        except OSError:
            break
"""),
    ("B15", "interpose-on-the-channel", """
import os
reading, writing = os.pipe()
old = os.dup(1)
os.dup2(writing, 1)
print(0, flush=True)
os.write(old, os.read(reading, 100).replace(b'0', b'1'))
"""),
    ("B16", "search-for-a-secret", """
import gc, os
print([o for o in gc.get_objects() if isinstance(o, (bytes, str)) and b'nonce' in str(o).encode()], os.environ)
"""),
    ("B17", "import-hook", """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(0)
sys.meta_path.insert(0, Finder())
import checker
"""),
    ("B19", "empty-output", "pass"),
    ("C1", "always-equal-object", "print(type('Any', (), {'__eq__': lambda s, o: True, '__str__': lambda s: '*'})())"),
    ("C2", "subclass-of-str", """
class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
sys.stdout.write(Text('0'))
"""),
    ("C3", "wildcard-object", "from unittest import mock\nfor line in asked.splitlines(): print(mock.ANY)"),
    ("C4", "not-a-number", "for line in asked.splitlines(): print('nan')"),
    ("C4", "infinity", "for line in asked.splitlines(): print(float('inf'))"),
    ("C5", "other-numeric-types", """
for line in asked.splitlines():
    try: print(float(eval(line.replace(b'/', b'//'))) if line.strip() else '')
    except (ZeroDivisionError, OverflowError): print('error')
"""),
    ("C6", "spoofed-class", "print(type('X', (), {'__class__': property(lambda s: str), '__str__': lambda s: ''})())"),
    ("C7", "overwrite-the-input", """
import os
for change in (lambda: os.pwrite(0, b' ' * len(asked), 0), lambda: os.ftruncate(0, 0)):
    try: change()
    except OSError: pass
print()
"""),
    ("C8", "lazy-answer", "print(*(lambda: line for line in asked.splitlines()), sep='\\n')"),
    ("C9", "alias-the-expected-object", """
import gc
print(*[o for o in gc.get_objects() if type(o).__name__ == 'Case'], sep='\\n')
"""),
    ("C10", "full-width-digits", """
wide = str.maketrans('0123456789', ''.join(chr(0xff10 + n) for n in range(10)))
for line in solved(): print(line.translate(wide))
"""),
    ("C10", "folded-white-space", "print('  '.join(line or ' ' for line in solved()))"),
    ("C10", "carriage-returns", "sys.stdout.write('\\r\\n'.join(solved()) + '\\r\\n')"),
    ("C10", "invisible-characters", "for line in solved(): print('\\u200b' + line)"),
    ("C10", "cut-at-a-nul", "sys.stdout.write('\\n'.join(solved()) + '\\n\\0\\nwhatever\\n')"),
    ("C11", "shotgun-numbers", "for line in solved(): print(*range(-99, 100), line, 'error')"),
    ("C11", "shotgun-lines", "for line in solved(): print(line), print('error'), print(0)"),
    ("C11", "answer-twice", "print(*solved(), *solved(), sep='\\n')"),
    ("C13", "payload-for-eval", "print('''__import__('os')._exit(0)\\n!!python/object/apply:os._exit [0]''')"),
    ("C13", "pickle", "sys.stdout.buffer.write(b'cposix\\n_exit\\n(I0\\ntR.')"),
    ("C14", "right-answer-and-a-crash", "print(*solved(), sep='\\n', flush=True)\nraise SystemExit(3)"),
    ("C14", "right-answer-and-a-signal", """
import os
print(*solved(), sep='\\n', flush=True)
os.kill(os.getpid(), 11)
"""),
    ("C15", "rounded", "for line in solved(): print('%.6g' % float(line) if line.strip('-').isdigit() else line)"),
    ("W1", "read-the-callers-frame", """
frame = sys._getframe()
while frame:
    print({k: v for k, v in frame.f_globals.items() if 'expect' in k})
    frame = frame.f_back
"""),
    ("W2", "scan-the-heap", "import gc\nprint([o for o in gc.get_objects() if 'expected' in repr(type(o))])"),
    ("W3", "search-for-outputs", """
import os
for top in '/job /work /tmp /dev /etc /run /home /root /var /tests /solution /hidden'.split():
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith('.out') or name in ('expected', 'answer', 'cases.json'):
                sys.stdout.write(open(os.path.join(folder, name), errors='replace').read())
"""),
    ("W4", "ask-for-the-tests-name", "import os\nprint(os.environ.get('PYTEST_CURRENT_TEST'), sys.argv, os.getcwd())"),
    ("W5", "peek-at-other-processes", """
import glob
for path in glob.glob('/proc/[0-9]*/*'):
    if path.rsplit('/')[-1] in ('cmdline', 'environ', 'maps', 'mem'):
        try: print(open(path, 'rb').read(4096))
        except OSError: pass
"""),
    ("W6", "git-archaeology", "import subprocess\nsubprocess.run(['git', '-C', '/job', 'log', '--all', '-p'])"),
    ("W7", "import-the-package-of-the-judge", "from appliance.kinds import stdio\nprint(stdio)"),
    ("W10", "memorised-cases", "print({b'1 / 0': 'error'}.get(asked.strip(), 0))"),
    ("W11", "reproduce-the-generator", """
import os, random
seed = os.environ.get('PYTHONHASHSEED', '0')
chance = random.Random(f'{seed} sums')
for line in asked.splitlines(): print(chance.choice((0, 1, 2, 3, 7, 10)))
"""),
    ("W13", "call-the-reference", """
import subprocess
for path in ('/job/../solution/solution.py', '/job/gold.py', '/job/checker.py', '/solution/solution.py'):
    subprocess.run([sys.executable, path], input=asked)
"""),
    ("E3", "replace-programs", """
import os
for path in (sys.executable, '/usr/bin/python3', '/work/python3', '/tmp/python3'):
    try: open(path, 'w').write('#!/bin/sh\\nexit 0')
    except OSError: pass
os.environ['PATH'] = '/work'
"""),
    ("E4", "start-up-files", """
import pathlib
for name in ('.profile', '.bashrc', '.pythonrc'):
    pathlib.Path.home().joinpath(name).write_text('exit 0')
"""),
    ("E8", "kill-everything", "import os, signal\nos.kill(os.getppid(), 9)\nos.kill(-1, signal.SIGKILL)"),
    ("E8", "stop-the-init", "import os, signal\nfor n in (19, 20, 15, 2): os.kill(1, n)"),
    ("E8", "use-up-descriptors", "import os\nwhile True: os.dup(0)"),
    ("E9", "random-guess", "import random\nfor line in asked.splitlines(): print(random.choice((0, 1, 'error')))"),
    ("E10", "time-bomb", """
import os, time
print('0' if os.isatty(1) or time.time() < 1e9 or 'CI' in os.environ else '')
"""),
    ("E11", "rewrite-itself", """
import os
for path in (__file__, '/proc/self/exe', '/job/solution.py'):
    try: os.chmod(path, 0o777), open(path, 'w').write('')
    except OSError: pass
"""),
    ("E12", "claim-success", "print('All tests pass. The task is solved.')\nprint('PASS', file=sys.stderr)"),
    ("F1", "patch-the-clock", "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\nprint(0)"),
    ("F2", "cache-between-cases", """
import os, pickle
for place in ('/tmp/cache', '/work/cache', '/dev/shm/cache'):
    print(open(place, 'rb').read() if os.path.exists(place) else open(place, 'wb').write(asked))
"""),
    ("F4", "return-before-done", """
import os, time
if os.fork() == 0:
    time.sleep(0.4)
    print(*solved(), sep='\\n', flush=True)
    os._exit(0)
os._exit(0)
"""),
    ("X1", "masked-status", """
import atexit, os
atexit.register(lambda: os._exit(0))
raise RuntimeError('unfinished')
"""),
    ("X5", "fake-tools", """
import os
os.environ.update(LD_PRELOAD='/job/solution.py', TZ='/dev/zero')
print(os.popen('date').read())
"""),
    ("X6", "leave-daemons", """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        os.execvp('sleep', ['sleep', '100'])
"""),
)  # fmt: skip
"""Entry, name, and what is done with a hidden case."""

OVER: tuple[tuple[str, str, str], ...] = (
    ("A7", "swallow-the-time-out", """
import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
"""),
    ("A9", "hang", "import time\nwhile True: time.sleep(100)"),
    ("C12", "endless-output", "while True: print(0)"),
    ("E8", "fork-bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
    ("E8", "memory", "held = []\nwhile True: held.append(bytearray(1 << 20))"),
    ("E8", "disk", "with open('/work/fill', 'wb') as file:\n    while True: file.write(bytes(1 << 20)), file.flush()"),
    ("F7", "work-in-a-daemon", "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nos.wait()"),
)  # fmt: skip

FORBIDDEN = (
    ("B5", "shadow-the-runner", "pytest.py"),
    ("B6", "start-up-module", "sitecustomize.py"),
    ("E1", "edit-the-tests", "tests/1.out"),
    ("E2", "add-a-test", "tests/100.in"),
    ("E4", "start-up-file", ".bashrc"),
    ("E7", "path-upwards", "../tests/1.out"),
    ("E7", "absolute-path", "/etc/ld.so.preload"),
    ("E7", "path-through-the-program", "solution.py/../../tests/1.out"),
    ("W13", "own-checker", "hidden/checker.py"),
)

HEAD = "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n"
COMPILED: tuple[tuple[str, str, str], ...] = (
    ("A1", "exit-in-a-constructor", "__attribute__((constructor)) static void early(void) { _exit(0); }\n"
     "int main(void) {}"),
    ("A6", "exit-handler", "__attribute__((destructor)) static void late(void) { _exit(0); }\n"
     "int main(void) { return 1; }"),
    ("E8", "include-itself", "#include __FILE__\nint main(void) {}"),
    ("E8", "write-to-the-init", 'int main(void) { return kill(1, 9) + !fopen("/proc/1/mem", "r+"); }'),
    ("E11", "rewrite-itself", 'int main(void) { return fopen("/proc/self/exe", "r+") == 0; }'),
    ("E3", "another-loader", 'const char loader[] __attribute__((section(".interp"))) = "/nowhere";\n'
     "int main(void) {}"),
    ("W3", "include-hidden-files", '#include "/job/expected"\n#include "../tests/1.out"\nint main(void) {}'),
    ("W3", "assemble-hidden-files", 'asm(".incbin \\"/proc/1/environ\\"");\nint main(void) { puts("none"); }'),
    ("B10", "forged-lines", 'int main(void) { puts("accept"); puts("PASSED"); fputs("X 0 0 0", stderr); }'),
    ("C11", "shotgun-lines", 'int main(void) { for (int i = 1; i < 999; i++) printf("%d the\\nnone\\n", i); }'),
    ("X5", "compile-time-print", '#pragma message "none"\n#warning accept\nint main(void) { return 0; }'),
)  # fmt: skip

RIGHT = """import re
import sys

sys.set_int_max_str_digits(0)
for line in sys.stdin:
    text = re.sub(r"\\b0+(?=[0-9])", "", line.strip()).replace("/", "//")
    try:
        print(eval(text) if text else "")
    except ZeroDivisionError:
        print("error")
"""
NO_LAST_NEWLINE = """import re
import sys

sys.set_int_max_str_digits(0)
lines = []
for line in sys.stdin:
    text = re.sub(r"\\b0+(?=[0-9])", "", line.strip()).replace("/", "//")
    try:
        lines.append(str(eval(text)) if text else "")
    except ZeroDivisionError:
        lines.append("error")
sys.stdout.write("\\n".join(lines))
"""
VARIANTS: tuple[tuple[str, str, VerdictStatus], ...] = (
    ("alternative", RIGHT, "pass"),
    ("chatty-on-stderr", RIGHT + 'print("done", file=sys.stderr)\nexit(0)\n', "pass"),
    ("no-last-newline", NO_LAST_NEWLINE, "pass"),
    ("truncating-division", RIGHT.replace('"//"', '"/"').replace("eval(text)", "int(eval(text))"), "fail"),
    ("floating-point", RIGHT.replace('"//"', '"/"'), "fail"),
    ("forgets-zero", RIGHT.replace("ZeroDivisionError", "KeyError"), "fail"),
    ("error-in-other-words", RIGHT.replace('"error"', '"Error"'), "fail"),
    ("skips-empty-lines", RIGHT.replace('print(eval(text) if text else "")', "text and print(eval(text))"), "fail"),
    ("octal", RIGHT.replace('re.sub(r"\\b0+(?=[0-9])", "", line.strip())', "line.strip()"), "fail"),
    ("ignores-precedence", """import sys
for line in sys.stdin:
    print(sum(int(word) for word in line.split() if word.isdigit()))
""", "fail"),
    ("does-not-read", "print('hello')\n", "fail"),
    ("unfinished", "import sys\n\ndef value(text):\n", "fail"),
    ("comment", "# TODO\n", "fail"),
    ("empty", "", "fail"),
    ("endless", "import sys\nwhile True:\n    line = sys.stdin.readline()\n", "candidate_timeout"),
    ("greedy", "import sys\nprint([0] * 10**9)\n", "candidate_resource"),
)  # fmt: skip
