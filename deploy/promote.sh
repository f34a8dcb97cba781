#!/bin/sh
# Moves what a project runs in staging to production, or back.
set -eu

usage() {
	cat <<'TEXT'
Usage: promote.sh --project <p> [--component <c>] [--rollback]
                  [--force] [--skip-soak <reason>] [--dry-run]

  --project <p>         the project
  --component <c>       only this component; else every one of the project
  --rollback            move production back to what a promotion displaced
  --force               go on where capacity refuses; recorded
  --skip-soak <reason>  do not wait for soak and URL check, and why; recorded,
                        and only where the operator allows it
  --dry-run             tell what would happen; nothing is moved

FLOW_URL is the address of the flow controller, FLOW_TOKEN_FILE the file with
its token. Exit code 0: every component is where it should be; 2: refused,
nothing was moved; 3: a component waits for what lifts by itself, so ask again;
1: everything else. With --dry-run: the one that it would have been.
TEXT
}

here=$(dirname "$0")
[ -r "$here/flow.sh" ] || here=$(dirname "$(readlink -f "$0")") # the script is a link to where it is
[ -r "$here/flow.sh" ] || { printf '%s: flow.sh is not beside it\n' "$0" >&2 && exit 1; }
# shellcheck source=deploy/flow.sh
. "$here/flow.sh"

project='' component='' rollback=false force=false skip='' dry=false
while [ $# -gt 0 ]; do
	case $1 in
	--project) argument "$1" $# "${2:-}" && project=$2 && shift ;;
	--component) argument "$1" $# "${2:-}" && component=$2 && shift ;;
	--rollback) rollback=true ;;
	--force) force=true ;;
	--skip-soak) argument "$1" $# "${2:-}" && skip=$2 && shift ;;
	--dry-run) dry=true ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && fail "there is no $1" ;;
	esac
	shift
done
[ -n "$project" ] || { usage >&2 && fail "--project is missing"; }

body=$(json "$project") || exit 1
body="{\"project\":$body"
if [ -n "$component" ]; then
	quoted=$(json "$component") || exit 1
	body="$body,\"component\":$quoted"
fi
if [ -n "$skip" ]; then
	quoted=$(json "$skip") || exit 1
	body="$body,\"skipSoak\":$quoted"
fi
ask POST /promote "$body,\"rollback\":$rollback,\"force\":$force,\"dryRun\":$dry}"
