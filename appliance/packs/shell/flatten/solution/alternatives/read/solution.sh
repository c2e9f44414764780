#!/bin/sh
find . -type f | sed 's,^\./,,' | grep / | while IFS= read -r path; do
    name=
    rest=$path
    while [ "$rest" != "${rest#*/}" ]; do
        name=${name}${rest%%/*}__
        rest=${rest#*/}
    done
    mv "./$path" "./$name$rest"
done
find . -mindepth 1 -type d -empty -delete
