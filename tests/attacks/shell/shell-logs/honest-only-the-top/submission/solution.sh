mkdir archive
for f in *.log; do mv -- "$f" archive; done
