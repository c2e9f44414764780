alias python3=true
