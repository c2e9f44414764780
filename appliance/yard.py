"""Jails for tasks: one client for the default image, and one for each image that a task names."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from appliance.errors import IntegrityError, NotFoundError, SandboxError, TaskError
from appliance.nouns import Listed
from appliance.paths import Paths
from appliance.sandbox.client import Jails, JailStatus, prepare_tools, tools_image_name
from appliance.sandbox.policy import Policy
from appliance.sandbox.remote import RemoteJails

Client = Jails | RemoteJails


class Yard:
    """Opens each client when it is first asked for, and closes them all at the end; safe to use from many threads."""

    def __init__(self, paths: Paths, *, warm: bool = False, jailer: Path | None = None) -> None:
        """`jailer`: the socket of the one that starts the jails, from its images; None: this process does."""
        self._paths, self._warm, self._jailer = paths, warm, jailer
        self._held = ExitStack()
        self._lock = threading.Lock()
        self._by_image: dict[str, Client] = {}
        self._tools = ""

    @property
    def default(self) -> Client:
        """The jails of a task that names no image."""
        return self._client("")

    def of(self, task: Listed) -> Client:
        """The jails of a task; TaskError when its image is not there, or not what it was."""
        try:
            return self._client(task.image)
        except (NotFoundError, IntegrityError) as error:
            if not task.image:
                raise
            raise TaskError(
                f"{task.folder}/pool.toml: field 'image': {error.message}",
                remedy="make it (appliance image build or import), or write a digest of `appliance image list --json`",
            ) from error

    @property
    def tools(self) -> Client:
        """The jails that the judge's own tools run in. Their image is made when it is not there and we may.

        NotFoundError when a tool is not installed. A jailer that lacks the image refuses the first jail.
        """
        if not self._tools:
            name = prepare_tools(self._paths.images) if self._jailer is None else tools_image_name()
            self._tools = name
        return self._client(self._tools)

    def prove(self, tasks: Iterable[Listed]) -> None:
        """Run one jail of each image that is needed.

        SandboxError says what this host lacks, TaskError what an image does.
        """
        result = self.default.run(["true"], Policy())
        if result.status != JailStatus.ok:
            raise SandboxError(
                f"a jail could not run `true`: {result.detail}", remedy="run `appliance doctor`"
            )
        for task in {task.image: task for task in tasks if task.image}.values():
            self.prove_image(task)

    def prove_image(self, task: Listed) -> None:
        """TaskError unless the image of a task holds the Python that submissions run in."""
        result = self.of(task).run(["python3", "-c", ""], Policy())
        if result.status != JailStatus.ok:
            raise TaskError(
                f"{task.folder}/pool.toml: field 'image': python3 does not run in {task.image}: {result.detail}",
                remedy="make the image with a Python, for example appliance image build --python FOLDER",
            )

    @property
    def live(self) -> int:
        """Jails that are running now, of every image."""
        return sum(jails.live for jails in list(self._by_image.values()))

    def close(self) -> None:
        """End every jail."""
        self._held.close()

    def __enter__(self) -> Yard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _client(self, image: str) -> Client:
        with self._lock:
            if image not in self._by_image:
                client = self._opened(image)
                self._held.callback(client.close)
                self._by_image[image] = client
            return self._by_image[image]

    def _opened(self, image: str) -> Client:
        if self._jailer is not None:
            return RemoteJails(self._jailer, image=image)
        jails = Jails(self._paths, warm=self._warm, image=image)
        if image:
            # Now, and not with the first jail: what is wrong with an image is then the task's to answer for.
            jails.prepare_host()
        return jails
