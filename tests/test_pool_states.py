"""Review states: every transition allowed or refused, who may approve, what binds to a content, what is on record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_helpers import ADA, AUTHOR, BOB, Desk, open_desk

from appliance import events
from appliance.errors import IntegrityError, TaskError, UsageError
from appliance.pool import record, rules, states
from appliance.pool.record import State
from appliance.pool.versions import weights_of_history
from appliance.tasks import find_task

ALL: tuple[State, ...] = tuple(rules.TRANSITIONS)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    found = open_desk(tmp_path)
    yield found
    found.store.close()


@pytest.mark.parametrize("before", ALL)
def test_a_task_goes_where_the_table_says_and_nowhere_else(desk: Desk, before: State) -> None:
    made = desk
    for after in ALL:
        desk = made.copy(after)
        desk.reach(before)
        if before == "quarantined":
            desk.battery()
        if after in rules.TRANSITIONS[before]:
            assert desk.move(after, BOB).after == desk.state == after
        else:
            with pytest.raises(UsageError, match=f"is {before} and cannot become {after}") as refused:
                desk.move(after, BOB)
            assert all(way in refused.value.remedy for way in rules.TRANSITIONS[before])
            assert desk.state == before


def test_a_changed_content_is_a_draft_again_and_the_old_one_is_what_was_approved(desk: Desk) -> None:
    desk.reach("active")
    assert states.active(desk.store, [desk.task]) == [desk.task]
    desk.edit("tests/cases.json", "22", "23")
    assert desk.state == "draft"
    assert states.states_of(desk.store, [desk.task]) == {"made/task": "draft"}
    assert states.active(desk.store, [desk.task]) == []
    desk.edit("tests/cases.json", "23", "22")
    assert desk.state == "active"


def test_a_retired_task_stays_retired_whatever_it_holds(desk: Desk) -> None:
    desk.reach("retired")
    desk.edit("pool.toml", 'version = "1.0.0"', 'version = "2.0.0"')
    assert desk.state == "retired"
    assert states.unbarred(desk.store, [desk.task]) == []


@pytest.mark.parametrize(
    "who",
    [
        AUTHOR,
        (AUTHOR[0], "somebody else"),
        (2001, "  Author "),
        (0, "carol"),  # the account of uid 0 is named root, and root is the author
    ],
)
def test_who_made_it_cannot_approve_it(desk: Desk, who: tuple[int, str]) -> None:
    if who[0] == 0:
        desk.edit("pool.toml", 'tier = "easy"', 'tier = "easy"\nauthor = "Root"')
    desk.reach("in_review")
    with pytest.raises(UsageError, match=r"author|submitted"):
        desk.move("approved", who)
    assert desk.state == "in_review"


def test_a_held_out_task_needs_two_people(tmp_path: Path) -> None:
    desk = open_desk(tmp_path, "eval")
    desk.reach("in_review")
    first = desk.move("approved", ADA)
    assert (first.before, first.after, len(first.approvals)) == ("in_review", "in_review", 1)
    for again in (ADA, (ADA[0], "bob"), (BOB[0], "Ada")):
        with pytest.raises(UsageError, match="approved it already"):
            desk.move("approved", again)
    second = desk.move("approved", BOB)
    assert desk.state == "approved"
    assert [one.name for one in second.approvals] == ["ada", "bob"]


def test_an_approval_binds_to_the_content_it_was_given_to(tmp_path: Path) -> None:
    desk = open_desk(tmp_path, "eval")
    desk.reach("in_review")
    desk.move("approved", ADA)
    desk.edit("instruction.md", "Do it.", "Do it well.")
    desk.battery()
    desk.move("auto_validated")
    desk.move("in_review")
    assert desk.move("approved", BOB).after == "in_review"
    assert desk.move("approved", ADA).after == "approved"


def test_only_a_whole_battery_passed_at_this_content_under_this_verifier_counts(desk: Desk) -> None:
    def refused(why: str) -> None:
        with pytest.raises(TaskError, match=why):
            desk.move("auto_validated")

    refused("no evidence")
    failed = {"id": "V5", "name": "mutants killed", "state": "failed", "reason": "weak tests"}
    desk.battery(ok=False, checks=[failed, failed | {"id": "V1", "state": "passed"}])
    refused(r"refused it; V5 mutants killed: weak tests\n")
    desk.battery(whole=False)
    refused("not the whole")
    desk.battery(verifier="other")
    refused("verifier changed")
    desk.battery()
    desk.edit("instruction.md", "Do it.", "Do it well.")
    refused("changed since")
    identity = desk.battery()
    assert desk.move("auto_validated").evidence == identity


def test_who_lacks_evidence_is_told_the_command_that_makes_it(desk: Desk) -> None:
    with pytest.raises(TaskError) as own:
        desk.move("auto_validated")
    assert own.value.remedy == f"appliance task admit --pack {desk.folder.parent} made/task"
    with pytest.raises(TaskError) as shipped:
        rules.check_evidence(find_task("starter/clamp"), "v", None, ())
    assert shipped.value.remedy == "appliance task admit starter/clamp"


def test_an_approval_rests_on_what_the_battery_says_now(desk: Desk) -> None:
    desk.reach("in_review")
    desk.battery(ok=False)
    with pytest.raises(TaskError, match="refused it"):
        desk.move("approved", ADA)


def test_a_task_leaves_quarantine_by_a_newer_battery_and_another_person(desk: Desk) -> None:
    desk.reach("active")
    desk.move("quarantined", (0, "the monitor"), "passes without work", alarm="M2 17")
    assert states.unbarred(desk.store, [desk.task]) == []
    with pytest.raises(TaskError, match="older than its quarantine"):
        desk.move("active", ADA)
    desk.battery()
    with pytest.raises(UsageError, match="submitted"):
        desk.move("active", AUTHOR)
    assert desk.move("active", ADA).approvals[0].name == "ada"
    assert states.stored(desk.store)[-2].alarm == "M2 17"


def test_a_quarantine_is_not_escaped_by_an_edit(desk: Desk) -> None:
    desk.battery()
    desk.edit("instruction.md", "Do it.", "Do it well.")
    desk.reach("active")
    desk.move("quarantined", reason="looked odd")
    desk.edit("instruction.md", "Do it well.", "Do it.")
    with pytest.raises(TaskError, match="changed since"):
        desk.move("auto_validated")


@pytest.mark.parametrize(
    ("name", "old", "new", "least"),
    [
        ("instruction.md", "Do it.", "Do it well.", "2.0.0"),
        ("environment/solution.py", "...", "pass", "2.0.0"),
        ("tests/cases.json", '"args": [2]', '"args":  [2]', "1.1.0"),
        ("solution/solution.py", "2 * n", "n + n", "1.1.0"),
        ("pool.toml", "wall_s = 4", "wall_s = 5", "1.1.0"),
        ("pool.toml", 'tier = "easy"', 'tier = "core"', "1.0.1"),
    ],
)
def test_a_version_is_raised_as_the_change_asks(
    desk: Desk, name: str, old: str, new: str, least: str
) -> None:
    desk.reach("active")
    desk.edit(name, old, new)
    desk.battery()
    desk.move("auto_validated")
    with pytest.raises(TaskError, match="field 'version'") as refused:
        desk.move("in_review")
    assert refused.value.remedy == f'write version = "{least}"'
    desk.edit("pool.toml", 'version = "1.0.0"', f'version = "{least}"')
    desk.battery()
    desk.move("auto_validated")
    desk.move("in_review")
    assert desk.move("approved", ADA).version == least


def test_history_counts_by_the_number_that_was_raised() -> None:
    weights = [weights_of_history("1.2.3", new) for new in ("1.2.3", "1.2.4", "1.3.0", "2.0.0", "1.1.0")]
    assert weights == [1.0, 1.0, 0.25, 0.0, 0.25]


@pytest.mark.parametrize(("first", "then"), [("eval", "train"), ("train", "eval")])
def test_what_was_held_out_is_never_trained_on(tmp_path: Path, first: str, then: str) -> None:
    desk = open_desk(tmp_path, first)
    desk.reach("active")
    desk.edit("pool.toml", f'split = "{first}"\n', f'split = "{then}"\n')
    desk.edit("pool.toml", 'version = "1.0.0"', 'version = "9.0.0"')
    desk.battery()
    desk.move("auto_validated")
    with pytest.raises(TaskError, match=f"it was '{first}'"):
        desk.move("in_review")
    other = desk.copy("other")
    other.battery()
    other.move("auto_validated")
    with pytest.raises(TaskError, match="made/task, of the same cluster"):
        other.move("in_review")


def test_every_step_is_in_the_event_chain_and_an_edited_record_is_found(desk: Desk) -> None:
    desk.reach("active")
    told = [event for event in desk.store.events("") if event.kind == "task.state"]
    assert [event.data["after"] for event in told] == ["auto_validated", "in_review", "approved", "active"]
    assert [event.actor for event in told] == [2000, 2000, 2001, 2000]
    assert events.verify(desk.store.events()) == states.verify(desk.store) == 4
    edit(
        desk,
        'UPDATE task_changes SET body = replace(body, \'"name": "ada"\', \'"name": "eve"\') WHERE seq = 3',
    )
    with pytest.raises(IntegrityError, match="record 3"):
        states.verify(desk.store)
    edit(desk, "UPDATE task_changes SET task_hash = 'f' WHERE seq = 4")
    with pytest.raises(IntegrityError, match="was edited"):
        states.state_of(desk.store, desk.task)


def test_records_that_were_cut_off_are_missed(desk: Desk) -> None:
    desk.reach("quarantined")
    edit(desk, "DELETE FROM task_changes WHERE seq = 5")
    with pytest.raises(IntegrityError, match="4 task changes are on record, but the event chain tells of 5"):
        states.verify(desk.store)


def edit(desk: Desk, statement: str) -> None:
    with sqlite3.connect(desk.store.path) as connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def test_a_step_that_fails_takes_the_others_with_it(desk: Desk) -> None:
    desk.battery()
    desk.edit("pool.toml", 'tier = "easy"', 'tier = "easy"\nauthor = "x"')
    with pytest.raises(TaskError):
        states.move(desk.store, desk.task, ("quarantined", "active"), actor=1, name="a", reason="", now=1.0)
    assert states.stored(desk.store) == ()
    assert desk.store.events("") == []


# what a pack comes with


def shipped(desk: Desk, approver: str = "release") -> None:
    """Write records into the folder, as who ships a pack does."""
    task, before = desk.task, "draft"
    approvals = [record.Approval(0, approver)] * (task.split != "eval") or [
        record.Approval(0, approver),
        record.Approval(0, "second"),
    ]
    for after in ("auto_validated", "in_review", "approved", "active"):
        given = approvals if after == "approved" else []
        one = record.of_task(
            task,
            before,
            after,
            time=5,
            actor=0,
            name=approver if given else "maker",
            reason="",
            approvals=given,
        )
        record.append(desk.folder, [one])
        before = after


def test_records_in_the_folder_count_where_the_store_knows_nothing(desk: Desk) -> None:
    shipped(desk)
    assert desk.state == "active"
    assert states.active(desk.store, [desk.task]) == [desk.task]
    desk.move("quarantined", reason="odd")
    assert desk.state == "quarantined"
    desk.battery()
    assert desk.move("active", (0, "ada")).after == "active"


def test_records_in_the_folder_do_not_count_for_another_content(desk: Desk) -> None:
    shipped(desk)
    desk.edit("instruction.md", "Do it.", "Do it well.")
    assert desk.state == "draft"


@pytest.mark.parametrize("fault", ["edited", "cut", "no record", "approved by its maker", "skipped"])
def test_records_in_the_folder_that_do_not_hold_count_for_nothing(desk: Desk, fault: str) -> None:
    path = desk.folder / record.FILE
    if fault == "approved by its maker":
        shipped(desk, "Maker")
    elif fault == "skipped":
        one = record.of_task(desk.task, "draft", "active", time=5, actor=0, name="x", reason="")
        record.append(desk.folder, [one])
    else:
        shipped(desk)
        lines = path.read_text().splitlines(keepends=True)
        if fault == "edited":
            lines[2] = lines[2].replace('"name": "release"', '"name": "mallory"')
        path.write_text(
            "".join(lines[1:]) if fault == "cut" else "".join(lines) + "{}\n" * (fault == "no record")
        )
    assert desk.state == "draft"
    if fault in ("edited", "cut", "no record"):
        with pytest.raises(IntegrityError, match=record.FILE):
            record.read(desk.folder)


def test_a_file_of_records_that_does_not_hold_is_not_added_to(desk: Desk) -> None:
    shipped(desk)
    path = desk.folder / record.FILE
    path.write_text(path.read_text().replace("release", "mallory"))
    before = path.read_bytes()
    with pytest.raises(IntegrityError):
        record.append(desk.folder, [])
    assert path.read_bytes() == before


def test_a_record_reads_back_as_it_was(desk: Desk) -> None:
    desk.reach("approved")
    for change in states.stored(desk.store):
        assert record.Change.from_json(json.loads(json.dumps(change.to_json()))) == change
