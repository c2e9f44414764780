#!/bin/sh
if [ -f app.log.2 ]; then mv app.log.2 app.log.3; else rm -f ./app.log.3; fi
if [ -f app.log.1 ]; then mv app.log.1 app.log.2; fi
cp app.log app.log.1
truncate -s 0 app.log
