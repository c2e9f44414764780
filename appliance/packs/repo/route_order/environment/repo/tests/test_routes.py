from routes import NoRoute, Table, run


def test_find():
    assert run([["add", "/user/:name", "profile"], ["find", "/user/bo"], ["find", "/user"]])[1:] == [["profile", {"name": "bo"}], "refused"]


def test_rest():
    assert run([["add", "/files/*path", "file"], ["find", "/files/a/b"]])[1:] == [["file", {"path": "a/b"}]]


def test_path():
    assert run([["add", "/user/:name", "profile"], ["path", "profile", {"name": "al"}]])[1:] == ["/user/al"]


def test_nothing():
    try:
        Table().find("/a")
    except NoRoute as error:
        assert error.what == "/a"
    else:
        raise AssertionError
