#!/bin/sh
rm -f app.log.3
for old in 2 1; do
    [ ! -e "app.log.$old" ] || mv "app.log.$old" "app.log.$((old + 1))"
done
mv app.log app.log.1
: > app.log
