grep -rlx -- "$1" . | xargs sed -i "s/^$1$/$2/"; grep -rcx -- "$2" . | wc -l
