exec bash -c '
find . -path ./archive -prune -o -type f -name "*.log" -print0 | while IFS= read -r -d "" file; do
    if [[ -s $file ]]; then
        folder=archive/$(dirname "$file")
        mkdir -p "$folder"
        mv "$file" "$folder"
    else
        rm "$file"
    fi
done'
