#!/bin/sh
rm -f ./app.log.3
for old in 2 1; do
    if test -f "app.log.$old"; then mv "app.log.$old" "app.log.$((old + 1))"; fi
done
cp app.log app.log.1
truncate -s 0 app.log
