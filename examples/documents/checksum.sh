# Prints the checksum and the size of a file as JSON. Exit code 66: there is no such file.
set -eu
[ -f "$1" ] || { echo "there is no file $1" >&2; exit 66; }
echo "job $TURNABOUT_JOB_ID of $TURNABOUT_GROUP reads $1"
sum=$(sha256sum < "$1" | cut -d ' ' -f 1)
size=$(wc -c < "$1" | tr -d ' ')
printf '{"sha256": "%s", "bytes": %s}\n' "$sum" "$size"
