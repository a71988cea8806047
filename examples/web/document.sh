# Reads a document ($1), whose pages are its lines, and says how far it is. Exit code 3: there is nothing to read.
set -eu
total=$(wc -l < "$1" | tr -d ' ')
if [ "$total" -eq 0 ]; then
    echo "::error no-pages The document has no pages."
    exit 3
fi
page=0
while [ "$page" -lt "$total" ]; do
    sleep "${PAUSE:-0.2}"
    page=$((page + 1))
    echo "::progress $((100 * page / total)) page $page of $total"
done
printf '{"pages": %d}\n' "$total"
