# Compresses the files of a folder ($1) into another one ($2), and says how far it is.
set -eu
[ -d "$1" ] || { echo "there is no folder $1" >&2; exit 66; }
mkdir -p "$2"
total=$(find "$1" -maxdepth 1 -type f | wc -l)
done=0
for file in "$1"/*; do
    [ -f "$file" ] || continue
    name=$(basename "$file")
    gzip -c "$file" > "$2/$name.gz.part"
    mv "$2/$name.gz.part" "$2/$name.gz"
    done=$((done + 1))
    echo "::progress $((100 * done / total)) $name"
done
printf '{"files": %d}\n' "$done"
