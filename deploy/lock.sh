#!/bin/sh
# Locks a commit of a component, so that promotion and rollback to it are
# refused; lists the locks; clears them.
set -eu

usage() {
	cat <<'TEXT'
Usage: lock.sh --component <c> --commit <sha> [--to <env>] --reason <text>
       lock.sh --list
       lock.sh --clear --component <c> --commit <sha>

  --component <c>   the component
  --commit <sha>    the commit, whole or its first characters, four or more
  --to <env>        only in this environment; else in every one
  --reason <text>   why; people who are refused read it
  --list            list the locks that hold
  --clear           clear the locks of the commit

FLOW_URL is the address of the flow controller, FLOW_TOKEN_FILE the file with
its token. Exit code 0: done; 2: refused; 1: everything else.
TEXT
}

here=$(dirname "$0")
[ -r "$here/flow.sh" ] || here=$(dirname "$(readlink -f "$0")") # the script is a link to where it is
[ -r "$here/flow.sh" ] || { printf '%s: flow.sh is not beside it\n' "$0" >&2 && exit 1; }
# shellcheck source=deploy/flow.sh
. "$here/flow.sh"

act=lock component='' commit='' to='' reason=''
while [ $# -gt 0 ]; do
	case $1 in
	--component) argument "$1" $# "${2:-}" && component=$2 && shift ;;
	--commit) argument "$1" $# "${2:-}" && commit=$2 && shift ;;
	--to) argument "$1" $# "${2:-}" && to=$2 && shift ;;
	--reason) argument "$1" $# "${2:-}" && reason=$2 && shift ;;
	--list) act=list ;;
	--clear) act=clear ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && fail "there is no $1" ;;
	esac
	shift
done

if [ "$act" = list ]; then
	[ -z "$component$commit$to$reason" ] || fail "--list takes no other flag"
	ask GET /locks
fi
[ -n "$component" ] || { usage >&2 && fail "--component is missing"; }
[ -n "$commit" ] || { usage >&2 && fail "--commit is missing"; }
name --component "$component"
name --commit "$commit"
name --to "$to"
if [ "$act" = clear ]; then
	[ -z "$reason" ] || fail "--clear takes no --reason"
	ask DELETE "/locks?component=$component&commit=$commit${to:+&to=$to}"
fi
[ -n "$reason" ] || { usage >&2 && fail "--reason is missing: say why, for those who will be refused"; }
quoted=$(json "$reason") || exit 1
ask POST /locks "{\"component\":\"$component\",\"commit\":\"$commit\"${to:+,\"to\":\"$to\"},\"reason\":$quoted}"
