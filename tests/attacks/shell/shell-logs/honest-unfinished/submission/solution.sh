for f in *.log; do
