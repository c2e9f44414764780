old=$1 new=$2
