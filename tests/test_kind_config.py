"""The `config` kind on real jails and real consumers: attacks, honest files, and what each consumer is asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.attacks import config
from appliance.dialogue import Broken
from appliance.errors import IntegrityError, TaskError
from appliance.judge import Judge
from appliance.kinds import config as kind
from appliance.kinds import config_consumers
from appliance.kinds.config import Probe, judge_reply, with_token
from appliance.kinds.config_consumers import CONSUMERS
from appliance.kinds.config_screens import screen_logging
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.tasks import load_task
from appliance.yard import Yard

PACK = Path(config.__file__).parent / "pack"
LOGGING = load_task(PACK / config.TASK)
SITE = load_task(PACK / "config_nginx")


def needs(name: str) -> pytest.MarkDecorator:
    """Skip where the consumer is not installed, and say which."""
    missing = [path for path in CONSUMERS[name].programs if not Path(path).is_file()]
    return pytest.mark.skipif(bool(missing), reason=f"{name} is not installed: {', '.join(missing)}")


def cases(task: Task, found: Iterator[Any]) -> list[Any]:
    marks = [needs(task.settings["consumer"])]
    return [
        pytest.param(task, one, id=f"{getattr(one, 'name', '')}{getattr(one, 'variant', '')}", marks=marks)
        for one in found
    ]


HOSTILE = [*cases(LOGGING, config.attacks(LOGGING)), *cases(SITE, config.site_attacks(SITE))]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield yard


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


def test_every_entry_of_the_config_family_is_tried() -> None:
    found = [case.values for case in HOSTILE]
    assert {f"K{number}" for number in range(1, 6)} <= {attack.id for _, attack in found}
    names = [(task.key, attack.id, attack.name) for task, attack in found]
    assert len(set(names)) == len(names) > 80


@pytest.mark.jail
def test_cold_jails_judge_alike(tmp_path: Path) -> None:
    with Yard(Paths(data=tmp_path / "data", cache=tmp_path / "cache")) as yard:
        judge = Judge(yard)
        for artefacts, reward in kind.controls(LOGGING).values():
            assert judge.judge(LOGGING, artefacts, seed=2).reward == reward


@pytest.mark.jail
def test_no_wanted_answer_goes_into_a_jail(judge: Judge, yard: Yard) -> None:
    """A word that only the wanted answer holds is in no verdict; what it is compared with is drawn per judging."""
    verdicts = [judge.judge(LOGGING, {"logging.json": b'{"version": 1}'}, seed=seed) for seed in (1, 1, 2)]
    first, again, _ = (json.dumps(verdict.evidence) for verdict in verdicts)
    assert first == again
    assert "added" not in first


class Trial:
    """A small task for one consumer, made for a test."""

    def __init__(self, folder: Path, judge: Judge) -> None:
        self.folder, self.judge = folder, judge

    def make(
        self,
        consumer: str,
        gold: str | Mapping[str, str],
        probes: list[tuple[dict[str, Any], Any]],
        *more: str,
    ) -> Trial:
        files = gold if isinstance(gold, Mapping) else {"file.conf": gold}
        shutil.copytree(PACK / config.TASK, self.folder)
        pool = (self.folder / "pool.toml").read_text()
        table = f'[config]\nconsumer = "{consumer}"\nfiles = {json.dumps(list(files))}\n' + "\n".join(more)
        head, _, tail = pool.partition("[config]")
        (self.folder / "pool.toml").write_text(f"{head}{table}\n\n[budgets]{tail.partition('[budgets]')[2]}")
        for name, text in files.items():
            path = self.folder / "solution" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        rows = [{"ask": ask, "expected": expected} for ask, expected in probes]
        rows += [{**row, "negative": True} for row in rows]
        (self.folder / "tests/probes.json").write_text(json.dumps(rows))
        (self.folder / "public/examples.json").write_text(json.dumps(rows[:1]))
        return self

    def judged(self, text: str | Mapping[str, str]) -> tuple[str, str, str]:
        """Status, first outcome and what came back."""
        task = load_task(self.folder)
        files = text if isinstance(text, Mapping) else {kind.lone(task): text}
        verdict = self.judge.judge(task, {name: body.encode() for name, body in files.items()}, seed=3)
        first = verdict.evidence[0] if verdict.evidence else {}
        return verdict.status, first.get("outcome", ""), first.get("got", first.get("text", ""))


@pytest.fixture
def trial(tmp_path: Path, judge: Judge) -> Trial:
    return Trial(tmp_path / "task", judge)


INI = """[loggers]
keys=root
[handlers]
keys=h
[formatters]
keys=f
[logger_root]
level=INFO
handlers=h
[handler_h]
class=StreamHandler
args=(sys.stdout,)
formatter=f
[formatter_f]
format=%(levelname)s %(message)s
"""


@pytest.mark.parametrize("key", ["args", "kwargs", "defaults"])
def test_what_file_config_evaluates_must_be_literal(key: str) -> None:
    section = "formatter_f" if key == "defaults" else "handler_h"
    for value, refused in (("{'a': 1}", False), ("__import__('os').abort()", True)):
        finding = screen_logging({"log.ini": f"[{section}]\n{key} = {value}\n".encode()}, frozenset())
        assert (finding is not None) is refused


@pytest.mark.jail
def test_python_logging_reads_an_ini_file_too(trial: Trial) -> None:
    ask = {"emit": [["a", "INFO", "{nonce}"], ["a", "DEBUG", "no"]], "look": ["stdout", "absent.log"]}
    trial.make("logging", {"log.ini": INI}, [(ask, {"stdout": ["INFO {nonce}"], "absent.log": None})])
    assert trial.judged(INI)[0] == "pass"
    assert trial.judged(INI.replace("level=INFO", "level=DEBUG"))[:2] == ("fail", "wrong_answer")
    assert trial.judged(INI.replace("class=StreamHandler", "class=Streamhandler"))[:2] == (
        "fail",
        "forbidden_construct",
    )
    assert trial.judged(INI.replace("keys=h", "keys=h,i"))[:2] == ("fail", "refused")
    hostile = {
        "args=(os.system('true'),)": "tamper",
        "args=(__import__('os').system('true'),)": "tamper",
        "args=(%(x)s,)": "fail",
        "args=('/proc/self/fd/4',)": "fail",
        "args=(lambda: 0,)": "fail",
        "args=([].__class__,)": "fail",
        "kwargs={'stream': open('/job/worker.py')}\nargs=()": "fail",
    }
    for line, status in hostile.items():
        assert trial.judged(INI.replace("args=(sys.stdout,)", line))[:2] == (status, "forbidden_construct"), (
            line
        )
    assert trial.judged("[DEFAULT]\nargs=(eval('1'),)\n" + INI)[:2] == ("fail", "forbidden_construct")
    assert trial.judged(INI.replace("class=Stream", "class=subprocess.Popen #"))[0] == "tamper"


SSHD = """PermitRootLogin no
PasswordAuthentication no
AllowUsers ada bob
Match User bob Address 10.0.0.0/8
    PasswordAuthentication yes
    X11Forwarding yes
"""


def connection(user: str, addr: str, *look: str) -> dict[str, Any]:
    return {"user": user, "host": "client.example", "addr": addr, "look": list(look)}


@needs("sshd")
@pytest.mark.jail
def test_sshd_says_what_holds_for_a_connection(trial: Trial) -> None:
    both = ("passwordauthentication", "x11forwarding")
    probes = [
        (connection("bob", "10.1.2.3", *both), {"passwordauthentication": ["yes"], "x11forwarding": ["yes"]}),
        (connection("bob", "192.0.2.1", *both), {"passwordauthentication": ["no"], "x11forwarding": ["no"]}),
        (
            connection("ada", "10.1.2.3", "AllowUsers", "permitrootlogin"),
            {"AllowUsers": ["ada", "bob"], "permitrootlogin": ["no"]},
        ),
    ]
    trial.make("sshd", {"sshd_config": SSHD}, probes)
    assert trial.judged(SSHD) == ("pass", "", "")
    alternative = SSHD.replace("Match User bob Address 10.0.0.0/8", "Match Address 10.0.0.0/8 User bob")
    assert (
        trial.judged(alternative.replace("AllowUsers ada bob", "AllowUsers ada\nAllowUsers bob"))[0] == "pass"
    )
    # An earlier value wins in sshd, whatever comes later.
    assert trial.judged("PasswordAuthentication yes\n" + SSHD)[:2] == (
        "fail",
        "wrong_answer",
    )
    for wrong in (
        "# " + SSHD.replace("\n", "\n# "),
        "Match all\n" + SSHD,
        SSHD.replace("10.0.0.0/8", "*"),
        SSHD.replace("PermitRootLogin no", "PermitRootLogin yes"),
    ):
        assert trial.judged(wrong)[0] == "fail", wrong
    assert trial.judged(SSHD + "Bogus yes\n")[:2] == ("fail", "refused")
    assert trial.judged("Include /etc/passwd\n" + SSHD)[:2] == ("fail", "forbidden_construct")
    assert trial.judged('include="/job/*"\n' + SSHD)[:2] == ("fail", "forbidden_construct")
    assert trial.judged(SSHD + 'Match exec "true"\n')[:2] == ("fail", "forbidden_construct")
    # A value must not pass for another option where sshd prints it.
    for end in ("\r", "\x0c", "\x1c", "\u2028"):
        forged = SSHD.replace(
            "PermitRootLogin no", f'PermitRootLogin yes\nBanner "/x{end}permitrootlogin no"'
        )
        assert trial.judged(forged)[0] == "fail", repr(end)


UNIT = """[Unit]
Description=The app
After=network.target
[Service]
ExecStart=/bin/true --serve
Restart=on-failure
RestartSec=5
NoNewPrivileges=yes
ProtectSystem=strict
"""
TIMER = "[Timer]\nOnCalendar=Mon..Fri 02:30\nPersistent=true\n"


@needs("systemd")
@pytest.mark.jail
def test_systemd_says_what_it_made_of_a_unit(trial: Trial) -> None:
    service = {"unit": "app.service", "look": ["Restart", "RestartSec", "ExecStart", "ProtectSystem", "User"]}
    made = {
        "Restart": ["on-failure"],
        "RestartSec": ["5s"],
        "ExecStart": ["/bin/true --serve"],
        "ProtectSystem": ["strict"],
        "User": [],
    }
    timer = {
        "unit": "app.timer",
        "look": ["Persistent"],
        "elapses": {"from": "2026-01-02 12:00:00 UTC", "times": 2},
    }
    elapses = [["Mon 2026-01-05 02:30:00 UTC", "Tue 2026-01-06 02:30:00 UTC"]]
    probes = [
        (
            {**service, "security": ["NoNewPrivileges", "PrivateNetwork"]},
            {"look": made, "security": {"NoNewPrivileges": True, "PrivateNetwork": False}},
        ),
        (timer, {"look": {"Persistent": ["yes"]}, "elapses": elapses}),
    ]
    gold = {"app.service": UNIT, "app.timer": TIMER, "app.service.d/late.conf": "[Service]\n"}
    trial.make("systemd", gold, probes)
    assert trial.judged(gold) == ("pass", "", "")
    alternative = {**gold, "app.timer": TIMER.replace("Mon..Fri 02:30", "Mon,Tue,Wed,Thu,Fri *-*-* 02:30:00")}
    assert trial.judged(alternative)[0] == "pass"
    for wrong in (
        {**gold, "app.service": UNIT.replace("Restart=on-failure", "# Restart=on-failure")},
        {**gold, "app.service": UNIT + "[X-Service]\nRestart=always\n[Service]\nRestart=no\n"},
        {**gold, "app.service": UNIT.replace("strict", "full")},
        {
            **gold,
            "app.service": UNIT.replace("NoNewPrivileges=yes", "NoNewPrivileges=yes\nNoNewPrivileges=no"),
        },
        {**gold, "app.timer": TIMER.replace("02:30", "02:31")},
        {**gold, "app.timer": TIMER + "OnCalendar=daily\n"},
        {**gold, "app.service.d/late.conf": "[Service]\nRestart=always\n"},
    ):
        assert trial.judged(wrong)[:2] == ("fail", "wrong_answer"), wrong
    assert trial.judged({**gold, "app.service": UNIT.replace("/bin/true", "/bin/absent")})[:2] == (
        "fail",
        "refused",
    )
    assert trial.judged({"app.service": UNIT})[0] == "fail"
    # A value must not pass for another property where systemd prints it.
    for end in (r"\n", r"\x0a", r"\012"):
        forged = UNIT.replace("Restart=on-failure", f'Environment="A=x{end}\t\tRestart: on-failure"')
        assert trial.judged({**gold, "app.service": forged})[:2] == ("fail", "forbidden_construct")
    for end in ("\r", "\x0c", "\u2028"):
        forged = UNIT.replace("Restart=on-failure", f'Environment="A=x{end}\t\tRestart: on-failure"')
        assert trial.judged({**gold, "app.service": forged})[0] == "fail", repr(end)


ROTATE = "/work/log/*.log {\n    weekly\n    rotate 2\n    compress\n    missingok\n    create 0640\n}\n"


@needs("logrotate")
@pytest.mark.jail
def test_logrotate_is_run_on_a_fresh_tree(trial: Trial) -> None:
    tree = {
        "log/a.log": {"text": "{nonce}\n"},
        "log/a.log.1.gz": {"text": ""},
        "log/other.txt": {"text": "o"},
    }
    kept = {"log/a.log": {"text": "{nonce}\n"}}
    probes: list[tuple[dict[str, Any], Any]] = [
        ({"tree": {**tree, "log/a.log.1.gz": {"text": "x"}}, "force": True, "look": "names"},
         ["log/a.log", "log/a.log.1.gz", "log/a.log.2.gz", "log/other.txt"]),
        ({"tree": kept, "force": True, "look": "texts"}, {"log/a.log": "", "log/a.log.1.gz": "{nonce}\n"}),
        ({"tree": kept, "force": True, "look": "modes"}, {"log/a.log": "0640", "log/a.log.1.gz": "0644"}),
        ({"tree": kept, "rotated": {"log/a.log": 8}, "look": "names"}, ["log/a.log", "log/a.log.1.gz"]),
        ({"tree": kept, "rotated": {"log/a.log": 1}, "look": "texts"}, {"log/a.log": "{nonce}\n"}),
        ({"tree": kept, "force": True, "runs": 4, "look": "names"}, ["log/a.log", "log/a.log.1.gz", "log/a.log.2.gz"]),
    ]  # fmt: skip
    trial.make("logrotate", {"app": ROTATE}, probes)
    assert trial.judged(ROTATE) == ("pass", "", "")
    assert trial.judged("compress\n" + ROTATE.replace("    compress\n", ""))[0] == "pass"
    for wrong in (
        "# " + ROTATE.replace("\n", "\n# "),
        ROTATE.replace("*.log", "*"),
        ROTATE.replace("weekly", "daily"),
        ROTATE.replace("rotate 2", "rotate 5"),
        ROTATE.replace("create 0640", "create 0644"),
        ROTATE.replace("    compress\n", ""),
        ROTATE.replace("create 0640", "copytruncate"),
    ):
        assert trial.judged(wrong)[0] == "fail", wrong
    for scripted in (
        ROTATE.replace("}", "    postrotate\n        rm -f /work/log/other.txt\n    endscript\n}"),
        ROTATE.replace("weekly", "weekly\n    compresscmd /bin/sh"),
        "include /etc/passwd\n" + ROTATE,
        ROTATE.replace("weekly", "weekly\n    mail root"),
    ):
        assert trial.judged(scripted)[:2] == ("fail", "forbidden_construct")
    assert trial.judged(ROTATE.replace("weekly", "whenever {"))[0] == "fail"


@needs("logrotate")
@pytest.mark.jail
def test_a_task_may_allow_what_it_needs(trial: Trial) -> None:
    gold = ROTATE.replace("}", "    postrotate\n        touch /work/log/done\n    endscript\n}")
    ask = {"tree": {"log/a.log": {"text": "a"}}, "force": True, "look": "names"}
    trial.make(
        "logrotate",
        {"app": gold},
        [(ask, ["log/a.log", "log/a.log.1.gz", "log/done"])],
        'allow = ["scripts"]',
    )
    assert trial.judged(gold)[0] == "pass"
    assert trial.judged(ROTATE)[:2] == ("fail", "wrong_answer")
    hostile = gold.replace("touch /work/log/done", "kill -9 $PPID; while :; do :; done")
    assert trial.judged(hostile)[0] != "pass"
    # A script has the worker's uid, and still neither its memory nor its descriptors.
    peeking = gold.replace(
        "touch", "for pid in $(ls /proc); do ls /proc/$pid/fd/4 && touch /work/log/open; done; touch"
    )
    assert "open" not in trial.judged(peeking)[2]


@pytest.mark.jail
def test_a_missing_consumer_is_named(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    known = CONSUMERS["nginx"]
    absent = {**CONSUMERS, "nginx": replace(known, programs=("/usr/sbin/no-such-nginx",))}
    monkeypatch.setattr(kind, "CONSUMERS", absent)
    monkeypatch.setattr(kind, "_present", set())
    with pytest.raises(TaskError, match="nginx needs /usr/sbin/no-such-nginx") as caught:
        Judge(yard).judge(SITE, {"site.conf": b"server { }"})
    assert "apt-get install nginx-light" in caught.value.remedy


@pytest.mark.jail
def test_all_jails_share_one_budget(judge: Judge) -> None:
    budgets = {**LOGGING.settings["budgets"], "cpu_s": 0.3}
    poor = replace(LOGGING, settings={**LOGGING.settings, "budgets": budgets})
    verdict = judge.judge(poor, kind.controls(LOGGING)["gold"][0])
    assert (verdict.status, verdict.reward) == ("candidate_timeout", 0.0)


BREACHES: list[tuple[str, str, str, str]] = [
    ("pool.toml", 'consumer = "logging"', 'consumer = "apache"', "'apache' is not allowed"),
    ("pool.toml", 'files = ["logging.json"]', "files = []", "'files'"),
    ("pool.toml", 'files = ["logging.json"]', 'files = ["other.json"]', "solution/other.json is missing"),
    ("pool.toml", 'files = ["logging.json"]', 'files = ["logging.json"]\nallow = ["scripts"]', "'allow'"),
    ("tests/probes.json", ', "negative": true}', "}", "0 of 8 probes are negative"),
    ("tests/probes.json", '"look"', '"lock"', "unknown key 'lock'"),
    ("public/examples.json", '"ask"', '"asked"', "unknown key 'asked'"),
    ("public/examples.json", "[", "{", "not JSON"),
    ("solution/logging.json", "logging.FileHandler", "os.system", "is refused of submissions"),
]


@pytest.mark.parametrize(("name", "old", "new", "words"), BREACHES)
def test_a_task_out_of_form_is_refused(tmp_path: Path, name: str, old: str, new: str, words: str) -> None:
    folder = Path(shutil.copytree(PACK / config.TASK, tmp_path / "task"))
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    with pytest.raises(TaskError, match=words):
        load_task(folder)


def test_a_task_that_changed_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PACK / config.TASK, tmp_path / "task"))
    task = load_task(folder)
    (folder / "tests/probes.json").write_text("[]")
    with pytest.raises(IntegrityError):
        kind.totals(task)


PROBE = Probe("hidden", 0, {}, {"{nonce}": ["{nonce}", 1]}, negative=False)


@pytest.mark.parametrize(
    "reply",
    [{}, {"answer": 1, "correct": True}, {"refused": 1}, {"missing": []}, {"answer": {"$set": [1, 1]}}],
    ids=repr,
)
def test_a_reply_of_another_shape_is_a_breach(reply: dict[str, Any]) -> None:
    with pytest.raises(Broken):
        judge_reply(PROBE, "t", reply)


def test_the_token_is_in_keys_and_values() -> None:
    assert with_token({"a{nonce}": ["{nonce}", {"b": "x{nonce}"}], "n": 1}, "T") == {
        "aT": ["T", {"b": "xT"}],
        "n": 1,
    }
    assert judge_reply(PROBE, "T", {"answer": {"T": ["T", 1]}}).correct
    assert not judge_reply(PROBE, "T", {"answer": {"T": ["T", True]}}).correct
    assert not judge_reply(PROBE, "T", {"answer": {"{nonce}": ["{nonce}", 1]}}).correct


def test_every_consumer_has_its_program() -> None:
    folder = Path(config_consumers.__file__).parent
    assert all((folder / f"config_{name}.py").is_file() for name in CONSUMERS)
