#!/bin/sh
NAME=$1 VALUE=$2 awk '
index($0, ENVIRON["NAME"] "=") == 1 { $0 = ENVIRON["NAME"] "=" ENVIRON["VALUE"]; found = 1 }
{ print }
END { if (!found) print ENVIRON["NAME"] "=" ENVIRON["VALUE"] }' app.conf > ../new && cp ../new app.conf
