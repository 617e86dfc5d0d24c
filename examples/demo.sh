#!/bin/sh
# demo.sh KARMA: learns from clinic.csv, a table with missing values, and evaluates the model on the unseen rows of
# clinic-new.csv, beside 0-imputation and the majority class. Works in a temporary directory and leaves nothing.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 KARMA" >&2; exit 2; }
examples=$(cd "$(dirname "$0")" && pwd)
karma=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -x "$karma" ] || { echo "$0: $1 is not a program" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/examples"
cp "$examples/clinic.csv" "$examples/clinic-new.csv" "$work/examples/"
cd "$work"

# say WORD...: shows a command as a reader would type it. run WORD...: shows it, then runs it.
say() { echo "\$ $*"; }
run() {
    say "$@"
    if [ "$1" = karma ]; then shift; set -- "$karma" "$@"; fi
    "$@"
    echo
}

# number NAME FILE: a number from the top level of what --json wrote; share VALUE: as a percentage.
number() { sed -n "s/^  \"$1\": \\([0-9.eE+-]*\\),\\{0,1\\}\$/\\1/p" "$2"; }
share() { LC_ALL=C awk -v value="$1" 'BEGIN { printf "%.1f%%", 100 * value }'; }

echo "# 500 patients, one line each; a test that was not ordered is an empty cell."
run head -n 4 examples/clinic.csv

echo "# Learn from them as they are."
run karma train examples/clinic.csv --target outcome --id patient -o clinic.karma

echo "# Predict 300 patients that the model has not seen, whatever tests they had."
run karma predict clinic.karma examples/clinic-new.csv --id patient -o predictions.csv
run head -n 6 predictions.csv

echo "# Their outcomes are known here, so the predictions can be judged."
run karma eval clinic.karma examples/clinic-new.csv --id patient

echo "# The same with every missing value replaced by the column's mean: gamma 1 is 0-imputation of standardised cells."
say karma train examples/clinic.csv --target outcome --id patient --gamma 1 --scale paper -o zero.karma --quiet
"$karma" train examples/clinic.csv --target outcome --id patient --gamma 1 --scale paper -o zero.karma --quiet
say "karma eval zero.karma examples/clinic-new.csv --id patient --json >zero.json"
"$karma" eval zero.karma examples/clinic-new.csv --id patient --json >zero.json
say "karma eval clinic.karma examples/clinic-new.csv --id patient --json >clinic.json"
"$karma" eval clinic.karma examples/clinic-new.csv --id patient --json >clinic.json

echo
echo "accuracy on the $(number rows clinic.json) unseen rows"
printf '  %-28s %6s\n' \
    karma "$(share "$(number accuracy clinic.json)")" \
    "0-imputation (gamma 1)" "$(share "$(number accuracy zero.json)")" \
    "majority class" "$(share "$(number majority clinic.json)")"
