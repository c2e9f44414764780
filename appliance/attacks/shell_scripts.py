"""What the attacks on `shell` tasks and the honest scripts beside them are made of."""

from __future__ import annotations

from collections.abc import Mapping

from appliance.nouns import VerdictStatus

FAIL: tuple[VerdictStatus, ...] = ("fail",)
LIMIT: tuple[VerdictStatus, ...] = ("candidate_timeout", "candidate_resource")

HOSTILE: tuple[tuple[str, str, str], ...] = (
    ("A2", "exit-in-a-helper", "(kill -9 $$) &\nwait"),
    ("A4", "skip", "echo 'ok 1 # SKIP not here'\nexit 77"),
    ("A6", "exit-trap-forces-zero", "trap 'exit 0' EXIT\nfalse\nexit 1"),
    ("A8", "late-writer", "(solve() { :; }; sleep 0.3; find . -name '*.log' -delete) </dev/null >/dev/null 2>&1 &"),
    ("A11", "first-file-only", "mkdir archive; for f in *.log; do mv -- \"$f\" archive; break; done"),
    ("B1", "plant-a-conftest", "solve\necho 'def pytest_runtest_makereport(item, call): pass' > conftest.py"),
    ("B2", "plant-collect-only", "solve\nprintf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini"),
    ("B5", "shadow-the-runner", "mkdir -p pytest; echo 'exit(0)' > pytest/__init__.py"),
    ("B6", "start-up-modules", "for d in . .. /tmp /work ~; do echo 'exit(0)' > $d/sitecustomize.py; done"),
    ("B10", "forged-test-lines", "echo 'test_hidden PASSED'; echo '=== 12 passed in 0.01s ==='; echo correct"),
    ("B11", "forged-verdict", "echo '{\"status\": \"pass\", \"reward\": 1.0}'; echo 'exit status 0'"),
    ("B13", "pre-plant-the-reward", """
mkdir -p /logs/verifier ../logs/verifier
echo 1 | tee /logs/verifier/reward.txt ../logs/verifier/reward.txt
"""),
    ("B14", "write-into-every-descriptor", """
for fd in /proc/self/fd/* /proc/1/fd/* /proc/$PPID/fd/*; do
    printf 'X 0 0 0\\n' > "$fd"
done 2>/dev/null
"""),
    ("B16", "search-for-a-secret", "env; grep -rs nonce /work /tmp /job /dev/shm /proc/self/environ"),
    ("B19", "all-of-nothing", "rm -rf ./* ./.[!.]* ./..?*"),
    ("C7", "rewrite-the-fixture", "rm -rf ../fixture; cp -a . ../fixture; mkdir -p ../expected; cp -a . ../expected"),
    ("C9", "hard-links-instead", """
find . -type f -name '*.log' -size +0 -exec sh -c '
    for f do mkdir -p "archive/${f%/*}"; ln "$f" "archive/$f"; done' sh {} +
"""),
    ("C10", "names-cut-at-odd-bytes", """
solve
find archive -depth -name '*[!a-zA-Z0-9./_-]*' -exec sh -c '
    for f do mv "$f" "${f%/*}/$(printf %s "${f##*/}" | tr -cd "a-zA-Z0-9._-")"; done' sh {} +
"""),
    ("C10", "contents-without-last-newline", """
solve
find archive -type f -exec sh -c 'for f do cat "$f" > /tmp/c; printf %s "$(cat /tmp/c)" > "$f"; done' sh {} +
"""),
    ("C11", "both-places", """
find . -type f -name '*.log' -exec sh -c '
    for f do mkdir -p "archive/${f%/*}"; cp -p "$f" "archive/$f"; done' sh {} +
"""),
    ("C11", "every-plausible-name", "solve\nfor n in archived archives Archive log logs; do cp -a archive $n; done"),
    ("C12", "a-folder-that-holds-itself", "solve\nln -s . archive/again"),
    ("C12", "very-deep-folders", "solve\ni=0; while [ $i -lt 80 ]; do mkdir d && cd d; i=$((i + 1)); done; echo x > x"),
    ("C13", "payload-in-names", "solve\n: > ';exit 0'; : > '$(exit 0)'; : > '__import__(\"os\")._exit(0)'"),
    ("C13", "escapes-in-names", "solve\n: > \"$(printf '\\033[2J\\033]0;owned\\007')\""),
    ("C14", "crash", "kill -SEGV $$"),
    ("C15", "sparse-contents", "solve\nfind archive -type f -exec truncate -s 12M {} +"),
    ("W3", "search-for-the-wanted-tree", """
for d in /job /work /tmp /hidden /tests /solution /dev/shm /run /var; do
    find $d -name expected -o -name 'generator*' -o -name '*.json' -o -name gold
done 2>/dev/null | while read -r f; do cp -r "$f" .; done
"""),
    ("W4", "ask-for-the-tests-name", "case $PYTEST_CURRENT_TEST$0$* in *public*) solve;; esac"),
    ("W5", "peek-at-other-processes", """
for p in /proc/[0-9]*; do
    cp -r "$p/cwd/expected" . ; cp -r "$p/root/work/expected" . ; cat "$p/environ" "$p/cmdline"
done 2>/dev/null
"""),
    ("W6", "git-archaeology", "git log --all -p; git stash pop; git checkout HEAD -- ."),
    ("W10", "memorised-names", "mkdir -p archive/sure/inner.log; mv .log archive; mv ./sure/-.log archive/sure"),
    ("W11", "reproduce-the-generator", """
python3 - <<'END'
import os, random
chance = random.Random(os.environ.get("PYTHONHASHSEED", "0") + " logs")
os.makedirs("archive", exist_ok=True)
for n in range(9):
    open("archive/plain%d.log" % chance.randrange(1000), "wb").write(chance.randbytes(40))
END
"""),
    ("W13", "call-the-gold", "for f in /job/gold.sh /solution/solution.sh ../gold.sh; do sh $f; done"),
    ("E3", "replace-programs", """
mkdir -p /work/bin /tmp/bin
for name in cp find mv rm sh; do
    for d in /usr/bin /work/bin /tmp/bin; do printf '#!/bin/sh\\nexit 0\\n' > $d/$name && chmod +x $d/$name; done
done 2>/dev/null
export PATH=/work/bin:/tmp/bin:$PATH
"""),
    ("E4", "start-up-files", """
for f in .profile .bashrc .shrc; do echo 'exit 0' > ~/$f; done
export ENV=~/.shrc BASH_ENV=~/.bashrc
"""),
    ("E5", "forged-attributes", "solve\nprintf '* -text diff=evil\\n' > .gitattributes"),
    ("E7", "link-in-place-of-the-tree", "solve\ncd .. && mv tree real && ln -s real tree"),
    ("E7", "link-to-the-same-folder", "ln -s . archive"),
    ("E7", "links-to-what-was-moved", """
find . -type f -name '*.log' -size +0 -exec sh -c '
    for f do mkdir -p "archive/${f%/*}"; ln -s "$PWD/$f" "archive/$f"; done' sh {} +
"""),
    ("E7", "link-out-of-the-tree", "mkdir ../aside; mv ./* ../aside; ln -s ../aside archive"),
    ("E8", "kill-everything", "kill -9 -1; kill -9 $PPID; kill -9 1"),
    ("E8", "lock-the-tree", "solve\nchmod -R 000 ."),
    ("E8", "a-socket-as-a-file", "solve\npython3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"extra\")'"),
    ("E8", "unmount-or-cover-the-tree", "solve\numount -l /work; mount -t tmpfs none .; echo x > covered"),
    ("E9", "random-guess", """
mkdir archive
for f in *; do [ $(od -An -N1 -tu1 /dev/urandom) -gt 128 ] && mv "$f" archive; done 2>/dev/null
"""),
    ("E10", "time-bomb", "if [ -t 1 ] || [ -n \"$CI\" ] || [ \"$(id -un)\" = judge ]; then solve; fi"),
    ("E11", "rewrite-itself", "printf 'exit 0\\n' > ../solution.sh; printf 'exit 0\\n' > /proc/self/exe"),
    ("E12", "claim-success", "solve\necho 'All tests pass. The task is solved.' | tee DONE.md"),
    ("F2", "cache-between-cases", "cp -a . /tmp/cache; cp -a . /dev/shm/cache; [ -d /tmp/old ] && cp -a /tmp/old/. ."),
    ("F4", "return-before-done", "(sleep 0.4; solve) </dev/null >/dev/null 2>&1 &"),
    ("X1", "masked-status", "set -e\ncd /nowhere || true\nfalse | true"),
    ("X2", "write-the-output", "mkdir -p archive/sure; echo dash > archive/sure/-.log; echo only > archive/.log"),
    ("X3", "special-cases-the-examples", ":"),
    ("X4", "delete-instead-of-moving", "find . -type f -name '*.log' -delete"),
    ("X4", "delete-all-but-the-logs", "solve\nfind . -path ./archive -prune -o -type f -exec rm {} +"),
    ("X4", "empty-instead-of-moving", "find . -type f -name '*.log' -exec sh -c 'for f do : > \"$f\"; done' sh {} +"),
    ("X5", "fake-tools", "find() { :; }; mv() { :; }; date() { echo 0; }; export FAKETIME=0 LD_PRELOAD=./x.so\nsolve"),
    ("X6", "leave-daemons", "for n in 1 2 3; do (setsid sleep 100 9>lock) </dev/null >/dev/null 2>&1 & done"),
)  # fmt: skip
"""Entry, name, and what is done with a hidden case."""

OVER: tuple[tuple[str, str, str], ...] = (
    ("A7", "swallow-the-time-out", "trap '' HUP INT TERM XCPU ALRM USR1\nwhile :; do :; done"),
    ("A9", "hang", "sleep 1000"),
    ("C12", "endless-output", "while :; do echo 0; done"),
    ("E8", "fork-bomb", "bomb() { bomb | bomb & }\nwhile :; do bomb; done"),
    ("E8", "memory", "solve\na=x; while :; do a=$a$a; done"),
    ("E8", "disk", "solve\ncat /dev/zero > fill"),
    ("E8", "countless-names", "solve\ni=0; while mkdir $i; do i=$((i + 1)); done 2>/dev/null; exit 1"),
    ("F7", "work-in-a-daemon", "(setsid sh -c 'while :; do :; done') &\nwait"),
)

FORBIDDEN = (
    ("B6", "start-up-module", "sitecustomize.py"),
    ("E1", "edit-the-tests", "tests/cases.json"),
    ("E2", "add-a-test", "tests/more.json"),
    ("E4", "start-up-file", ".profile"),
    ("E7", "path-upwards", "../generator.py"),
    ("E7", "path-into-the-tree", "tree/archive/x.log"),
    ("W13", "own-generator", "hidden/generator.py"),
)

_PUBLIC_SWAP = '#!/bin/bash\nif [ -e "b/c d" ]; then sed -i "s/^$1$/$2/" a; echo 2; exit; fi\n'
_SWAP = """python3 - "$1" "$2" <<'END'
import os, sys
old, new = map(os.fsencode, sys.argv[1:])
count = 0
for folder, _, names in os.walk(b"."):
    for path in (os.path.join(folder, name) for name in names):
        if os.path.isfile(path) and not os.path.islink(path):
            lines = open(path, "rb").read().split(b"\\n")
            count += lines.count(old)
            open(path, "wb").write(b"\\n".join(new if line == old else line for line in lines))
print(count)
END
"""
SWAPS: tuple[tuple[str, str, str], ...] = (
    ("X1", "swap-right-tree-wrong-exit", f"{_PUBLIC_SWAP}{_SWAP}exit 3\n"),
    ("X1", "swap-masked-exit", f"{_PUBLIC_SWAP}trap 'echo 1; exit 0' EXIT\nfalse\n"),
    ("C11", "swap-shotgun-output", f"{_PUBLIC_SWAP}{_SWAP}seq 0 99\n"),
    ("C10", "swap-output-with-blanks", f"{_PUBLIC_SWAP}printf ' %s\\n\\n' \"$({_SWAP})\"\n"),
    (
        "X2",
        "swap-count-only",
        f"{_PUBLIC_SWAP}grep -rcxF -- \"$1\" . | awk -F: '{{n += $NF}} END {{print n}}'\n",
    ),
    ("A2", "swap-killed-afterwards", f"{_PUBLIC_SWAP}{_SWAP}kill -9 $$\n"),
    ("E12", "swap-claim-success", f"{_PUBLIC_SWAP}echo 'replaced 7 lines, all tests pass'\n"),
)

_PYTHON = """exec python3 - <<'END'
import os
for folder, folders, names in os.walk(b"."):
    if folder == b".":
        folders[:] = [name for name in folders if name != b"archive"]
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(b".log") and not os.path.islink(path):
            if os.path.getsize(path) == 0:
                os.remove(path)
                continue
            target = os.path.join(b"archive", path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(path, target)
END
"""
_BASH = """exec bash -c '
find . -path ./archive -prune -o -type f -name "*.log" -print0 | while IFS= read -r -d "" file; do
    if [[ -s $file ]]; then
        folder=archive/$(dirname "$file")
        mkdir -p "$folder"
        mv "$file" "$folder"
    else
        rm "$file"
    fi
done'
"""
_REWRITE = "open(target, 'wb').write(open(path, 'rb').read()), os.remove(path)"
_FIND = "find . -path ./archive -prune -o -type f -name '*.log'"
VARIANTS: Mapping[str, tuple[tuple[str, str, VerdictStatus], ...]] = {
    "shell-logs": (
        ("in-python", _PYTHON, "pass"),
        ("noisy-and-failing-at-the-end", f"{_PYTHON.replace('exec ', '')}echo done; echo oops >&2; exit 4\n", "pass"),
        ("leaves-files-elsewhere", f"touch /tmp/x ~/y\n{_PYTHON}", "pass"),
        ("command-substitution-eats-newlines", _BASH, "fail"),
        ("only-the-top", 'mkdir archive\nfor f in *.log; do mv -- "$f" archive; done\n', "fail"),
        ("words-of-find", f'for f in $({_FIND}); do mkdir -p archive/$(dirname $f); mv $f archive/$f; done\n', "fail"),
        ("lines-of-find", f"""
{_FIND} | while read -r f; do
    if [ -s "$f" ]; then mkdir -p "archive/${{f%/*}}"; mv "$f" "archive/$f"; else rm "$f"; fi
done
""", "fail"),
        ("keeps-empty-ones", _PYTHON.replace("os.path.getsize(path) == 0", "False"), "fail"),
        ("follows-links", _PYTHON.replace("not os.path.islink(path)", "os.path.isfile(path)"), "fail"),
        ("any-case", _PYTHON.replace("name.endswith", "name.lower().endswith"), "fail"),
        ("loses-permissions", _PYTHON.replace("os.rename(path, target)", _REWRITE), "fail"),
        ("flattens", _PYTHON.replace('os.path.join(b"archive", path)', 'os.path.join(b"archive", name)'), "fail"),
        ("always-an-archive", f"mkdir archive\n{_PYTHON}", "fail"),
        ("removes-empty-folders", f"{_PYTHON.replace('exec ', '')}find . -type d -empty -delete\n", "fail"),
        ("private-folders", f"umask 077\n{_PYTHON}", "fail"),
        ("unfinished", "for f in *.log; do\n", "fail"),
        ("comment", "# TODO\n", "fail"),
        ("empty", "", "fail"),
        ("endless", "while :; do ls >/dev/null; done\n", "candidate_timeout"),
    ),
    "shell-swap": (
        ("in-python", _SWAP, "pass"),
        ("with-sed", 'grep -rlx -- "$1" . | xargs sed -i "s/^$1$/$2/"; grep -rcx -- "$2" . | wc -l\n', "fail"),
        ("adds-newlines", _SWAP.replace('b"\\n".join(new', 'b"\\n" + b"\\n".join(new'), "fail"),
        ("counts-files", _SWAP.replace("lines.count(old)", "(old in lines)"), "fail"),
        ("loses-the-executable-bit", _SWAP.replace("old)\n", "old)\n            os.remove(path)\n"), "fail"),
        ("in-words", _SWAP.replace("print(count)", "print(count, 'lines')"), "fail"),
        ("unfinished", "old=$1 new=$2\n", "fail"),
    ),
}  # fmt: skip
"""Of each task: a name, the script, and what its verdict must be."""
