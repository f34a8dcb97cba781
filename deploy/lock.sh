#!/bin/sh
# Locks a commit of a component, so that promotion and rollback to it are
# refused; lists the locks; clears them.
set -eu

usage() {
	cat <<'TEXT'
Usage: lock.sh --component <c> --commit <sha> [--to <env>] --reason <text>
       lock.sh --list [--older-than <age>]
       lock.sh --clear --component <c> --commit <sha> [--to <env>] [--dry-run]

  --component <c>     the component
  --commit <sha>      the commit, whole or its first characters, four or more
  --to <env>          only in this environment; else in every one
  --reason <text>     why; people who are refused read it
  --list              list the locks that hold
  --older-than <age>  only those that are at least so old: 14d, 36h
  --clear             clear the locks of the commit
  --dry-run           tell what would be cleared and what would move then;
                      nothing is cleared

FLOW_URL is the address of the flow controller, FLOW_TOKEN_FILE the file with
its token. Exit code 0: done; 2: refused; 1: everything else.
TEXT
}

here=$(dirname "$0")
[ -r "$here/flow.sh" ] || here=$(dirname "$(readlink -f "$0")") # the script is a link to where it is
[ -r "$here/flow.sh" ] || { printf '%s: flow.sh is not beside it\n' "$0" >&2 && exit 1; }
# shellcheck source=deploy/flow.sh
. "$here/flow.sh"

# hours AGE: an age as the controller reads it, which knows no days.
hours() {
	case $1 in
	*[!0-9hmsdw]* | [!1-9]* | *[!0-9]*[dw] | *[dw]?*) fail "--older-than \"$1\" is no age; write it as 14d or 36h" ;;
	*w) printf '%dh' "$((${1%w} * 168))" ;;
	*d) printf '%dh' "$((${1%d} * 24))" ;;
	*) printf '%s' "$1" ;;
	esac
}

act=lock component='' commit='' to='' reason='' older='' dry=false
while [ $# -gt 0 ]; do
	case $1 in
	--component) argument "$1" $# "${2:-}" && component=$2 && shift ;;
	--commit) argument "$1" $# "${2:-}" && commit=$2 && shift ;;
	--to) argument "$1" $# "${2:-}" && to=$2 && shift ;;
	--reason) argument "$1" $# "${2:-}" && reason=$2 && shift ;;
	--list) act=list ;;
	--older-than) argument "$1" $# "${2:-}" && older=$2 && shift ;;
	--dry-run) dry=true ;;
	--clear) act=clear ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && fail "there is no $1" ;;
	esac
	shift
done

if [ "$act" = list ]; then
	[ -z "$component$commit$to$reason" ] && [ $dry = false ] || fail "--list takes no other flag than --older-than"
	[ -z "$older" ] || older=$(hours "$older") || exit 1
	ask GET "/locks?limit=500${older:+&olderThan=$older}"
fi
[ -z "$older" ] || fail "--older-than goes with --list"
[ $dry = false ] || [ "$act" = clear ] || fail "--dry-run goes with --clear"
[ -n "$component" ] || { usage >&2 && fail "--component is missing"; }
[ -n "$commit" ] || { usage >&2 && fail "--commit is missing"; }
name --component "$component"
name --commit "$commit"
name --to "$to"
if [ "$act" = clear ]; then
	[ -z "$reason" ] || fail "--clear takes no --reason"
	ask DELETE "/locks?component=$component&commit=$commit${to:+&to=$to}&dryRun=$dry"
fi
[ -n "$reason" ] || { usage >&2 && fail "--reason is missing: say why, for those who will be refused"; }
quoted=$(json "$reason") || exit 1
ask POST /locks "{\"component\":\"$component\",\"commit\":\"$commit\"${to:+,\"to\":\"$to\"},\"reason\":$quoted}"
