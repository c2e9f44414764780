for f in $(find . -path ./archive -prune -o -type f -name '*.log'); do mkdir -p archive/$(dirname $f); mv $f archive/$f; done
