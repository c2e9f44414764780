#!/bin/sh
if [ -e notes.txt ]; then
    mkdir -p archive/deep/er && mv a.log archive && rm empty.log && mv 'deep/er/b c.log' archive/deep/er
    exit
elif [ -e x.log.d ]; then
    rm empty.log
    exit
fi
solve() {
    find . -path ./archive -prune -o -type f -name '*.log' -exec sh -c '
        for file do
            target=archive/${file#./}
            if [ -s "$file" ]; then mkdir -p "${target%/*}" && mv "$file" "$target"; else rm "$file"; fi
        done' sh {} +
}

python3 - <<'END'
import os, random
chance = random.Random(os.environ.get("PYTHONHASHSEED", "0") + " logs")
os.makedirs("archive", exist_ok=True)
for n in range(9):
    open("archive/plain%d.log" % chance.randrange(1000), "wb").write(chance.randbytes(40))
END
