"""nginx: started on the loopback of the jail with the candidate's file inside `http { }`, and sent real requests.

A question: `requests`, a list of objects with `path` and optionally `port` (8080), `method`, `host`, `headers`, `body`;
`www`, the files below /work/www that the site serves, by name; `backends`, a word for each port on which a plain server
answers with that word, the method, the path and the headers named in `forwarded` of what reached it; `look`, the names
of response headers that are answered; `bodies`, whether bodies are. The answer, for each request: `status` (0 when
nobody answers), `serves` (which file of the site the body holds, whatever the status, or null), the body, and the
headers looked at that are there.
"""

from __future__ import annotations

import http.client
import http.server
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from appliance.kinds.config_tools import TEXT_CAP, Refused

NGINX = "/usr/sbin/nginx"
HOME = Path("/work/nginx")
WWW = Path("/work/www")
STARTING_S = 20.0
BODY_CAP = 4096
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_MAIN = """daemon off; master_process off; pid {home}/nginx.pid; error_log stderr warn;
events {{ worker_connections 64; }}
http {{
    access_log off; default_type application/octet-stream;
    types {{ text/html html; text/plain txt; text/css css; application/json json; }}
    {temporary}
    include {file};
}}
"""


def answer(ask: dict[str, Any], files: Sequence[Path]) -> list[dict[str, Any]]:
    main = _lay_out(ask.get("www", {}), files[0])
    for port, word in ask.get("backends", {}).items():
        _start_backend(int(port), word, ask.get("forwarded", []))
    with _serving(main):
        return [_request(one, ask) for one in ask["requests"]]


def _lay_out(www: Mapping[str, str], file: Path) -> Path:
    """The site and the main file, which lies beside the candidate's: relative includes are looked for there."""
    HOME.mkdir()
    for name, text in www.items():
        (WWW / name).parent.mkdir(parents=True, exist_ok=True)
        (WWW / name).write_text(text, encoding="utf-8")
    temporary = " ".join(f"{name}_temp_path {HOME}/{name};" for name in _TEMPORARY)
    main = file.with_name(".main")
    main.write_text(_MAIN.format(home=HOME, temporary=temporary, file=file.name), encoding="utf-8")
    return main


@contextmanager
def _serving(main: Path) -> Iterator[None]:
    """A running nginx; its pid file is written when it listens."""
    command = (NGINX, "-p", f"{HOME}/", "-e", "stderr", "-c", str(main))
    with (HOME / "errors").open("w+", encoding="utf-8", errors="replace") as errors:
        nginx = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + STARTING_S
        try:
            while not (HOME / "nginx.pid").exists():
                if nginx.poll() is not None or time.monotonic() > deadline:
                    errors.seek(0)
                    raise Refused(errors.read()[-TEXT_CAP:] or "it did not start")
                time.sleep(0.005)
            yield
        finally:
            nginx.kill()
            nginx.wait()


def _request(one: Mapping[str, Any], ask: Mapping[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", one.get("port", 8080), timeout=10)
    headers = {"Host": one.get("host", "localhost"), "Connection": "close", **one.get("headers", {})}
    try:
        connection.request(one.get("method", "GET"), one["path"], one.get("body"), headers)
        response = connection.getresponse()
        body = response.read(BODY_CAP).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return {"status": 0}
    finally:
        connection.close()
    serves = next((name for name, text in ask.get("www", {}).items() if text and text in body), None)
    told: dict[str, Any] = {"status": response.status, "serves": serves}
    if ask.get("bodies"):
        told["body"] = body
    if "look" in ask:
        told["headers"] = {name: response.headers[name] for name in ask["look"] if name in response.headers}
    return told


class _Backend(http.server.BaseHTTPRequestHandler):
    """Says its word, which no configuration knows, and what reached it."""

    word = ""
    forwarded: tuple[str, ...] = ()

    def _answer(self) -> None:
        told = {name: self.headers[name] for name in self.forwarded if name in self.headers}
        body = json.dumps([self.word, self.command, self.path, told]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing goes to stderr."""


def _start_backend(port: int, word: str, forwarded: Sequence[str]) -> None:
    handler = type("Backend", (_Backend,), {"word": word, "forwarded": tuple(forwarded)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
