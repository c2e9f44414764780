from verlib import Range, Version, newest, next_minor


def test_order_of_numbers():
    assert Version("1.10.0") > Version("1.9.3")


def test_text():
    assert str(Version("1.0.0-rc.1+abc")) == "1.0.0-rc.1+abc"


def test_range():
    assert Version("1.4.0") in Range(">=1.2.0, <2.0.0")
    assert Version("2.0.0") not in Range(">=1.2.0, <2.0.0")


def test_newest():
    assert newest(["1.2.0", "1.10.0", "1.9.0"]) == "1.10.0"


def test_next_minor():
    assert str(next_minor(Version("1.2.3"))) == "1.3.0"
