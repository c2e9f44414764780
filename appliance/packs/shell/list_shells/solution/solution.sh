#!/bin/sh
awk -F: '!/^#/ && $3 >= 1000 { print $1 " " $7 }' accounts > shells
