#!/bin/sh
rm -f app.log.3
[ ! -e app.log.2 ] || mv app.log.2 app.log.3
[ ! -e app.log.1 ] || mv app.log.1 app.log.2
mv app.log app.log.1
: > app.log
