#!/bin/sh
exec python3 - <<'END'
import os

where = {}
broken = []
for folder, folders, names in os.walk("."):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            if not os.path.exists(path):
                broken.append(path)
        else:
            where.setdefault(name, []).append(path)
for link in broken:
    found = where.get(os.readlink(link).rpartition("/")[2], [])
    os.unlink(link)
    if len(found) == 1:
        os.symlink(os.path.relpath(found[0], os.path.dirname(link)), link)
END
