from verlib import Range, Version, newest, next_pre


def test_before_the_release():
    assert Version("1.4.0-rc.1") < Version("1.4.0")


def test_not_equal():
    assert not Version("1.4.0-rc.1") == Version("1.4.0")


def test_numbers_as_numbers():
    assert sorted(["1.0.0-rc.10", "1.0.0-rc.9"], key=Version) == ["1.0.0-rc.9", "1.0.0-rc.10"]


def test_numbers_before_texts():
    assert newest(["1.0.0-alpha.beta", "1.0.0-alpha.1"]) == "1.0.0-alpha.beta"
    assert newest(["1.0.0-99", "1.0.0-x"]) == "1.0.0-x"


def test_more_parts_are_later():
    assert newest(["1.0.0-alpha.1", "1.0.0-alpha"]) == "1.0.0-alpha.1"
    assert newest(["1.0.0-alpha", "1.0.0-alpha.1"]) == "1.0.0-alpha.1"


def test_newest_is_the_release():
    assert newest(["2.0.0-beta", "2.0.0", "2.0.0-alpha"]) == "2.0.0"
    assert newest(["2.0.0-beta", "2.0.0-rc", "2.0.0-alpha"]) == "2.0.0-rc"


def test_range_without_pre_releases():
    assert Version("2.0.0-rc.1") not in Range(">=2.0.0")


def test_range_of_pre_releases():
    found = [text for text in ("2.0.0-a", "2.0.0-b.2", "2.0.0-b.11", "2.0.0") if Version(text) in Range(">2.0.0-b.2,<2.0.0")]
    assert found == ["2.0.0-b.11"]


def test_hashes():
    assert len({Version("1.0.0-a+1"), Version("1.0.0-a+2"), Version("1.0.0-b"), Version("1.0.0")}) == 3


def test_next_number():
    assert str(next_pre(Version("1.0.0-rc.9"))) == "1.0.0-rc.10"


def test_next_without_number():
    assert str(next_pre(Version("1.0.0-beta+x"))) == "1.0.0-beta.1"


def test_equal_builds():
    assert Version("1.0.0+one") == Version("1.0.0+two")
