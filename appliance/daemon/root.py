"""The daemon's composition root: lock, store, queue, socket and service of one data folder, in the foreground."""

from __future__ import annotations

import faulthandler
import os
import time
from contextlib import ExitStack
from pathlib import Path

from appliance.daemon import lock
from appliance.daemon.book import Book
from appliance.daemon.commands import Commands
from appliance.daemon.condition import Condition
from appliance.daemon.listener import listening
from appliance.daemon.manager import Manager, watch
from appliance.daemon.metrics import NAME, MetricsFile
from appliance.daemon.notify import Notifier
from appliance.daemon.server import ControlServer
from appliance.daemon.service import Service
from appliance.journal import Listener
from appliance.paths import Paths
from appliance.queue.client import Queue
from appliance.store import Store


def serve(paths: Paths, path: Path, listeners: tuple[Listener, ...]) -> None:
    """Be the daemon of a data folder, at the socket `path`, until told to drain.

    Raises StoreError when another one holds the folder, or when folder, store, queue or socket cannot be used.
    """
    # The manager's watchdog ends us with SIGABRT: the log then says where every thread was.
    faulthandler.enable()
    notifier = Notifier(os.environ)
    listeners = (*listeners, Manager(notifier))
    with ExitStack() as stack:
        stack.enter_context(lock.single_run(paths, "daemon", str(path)))
        store = stack.enter_context(Store(paths.store, paths.objects))
        queue = stack.enter_context(Queue(paths.queue))
        book = Book(store, paths, time.time, listeners)
        service = Service(book, listeners)
        stack.enter_context(service.obeying())
        listener = stack.enter_context(listening(path, os.environ))
        commands = Commands(book, queue, service, Condition(book, queue, service, str(path)))
        book.settle()
        stack.enter_context(ControlServer(listener, commands))
        stack.enter_context(MetricsFile(queue, paths.data / NAME))
        watch(stack, notifier, store, service.beats, path)
        service.serve()
