python3 - <<'END'
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
find . -type d -empty -delete
