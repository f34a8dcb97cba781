# shellcheck shell=sh
# What promote.sh and lock.sh share: how they ask the flow controller. It is
# read by them ("."), and needs sh with curl, or else GNU wget.
#
#   FLOW_URL         address of the flow controller, such as http://127.0.0.1:8090
#   FLOW_TOKEN_FILE  file with its token, such as .platform/secrets/flow.token
#
# Exit codes: 0 done; 2 refused, and why; 3 something waits for what lifts by
# itself, so ask again; 1 everything else.

# fail SENTENCE: an error that is told.
fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# argument FLAG COUNT VALUE: the value that follows a flag. A flag in its place
# is a value forgotten; a reason may begin with dashes otherwise.
argument() {
	[ "$2" -ge 2 ] || fail "$1 needs a value; see --help"
	case $3 in
	'') fail "$1 is empty; see --help" ;;
	--project | --component | --rollback | --force | --skip-soak | --dry-run | --commit | --to | --reason | --list | --older-than | --clear | --help)
		fail "$1 needs a value before $3; see --help"
		;;
	esac
}

# name FLAG VALUE: a name or a commit, fit for an address as it is.
name() {
	case $2 in
	*[!A-Za-z0-9._-]*) fail "$1 \"$2\" may hold letters, digits, dots and dashes alone" ;;
	esac
}

# json TEXT: the text as a JSON string.
json() {
	other=$(printf '%s' "$1" | LC_ALL=C tr -d '\011\012\015\040-\176\200-\377' | wc -c)
	[ "$other" -eq 0 ] || fail "the text holds control characters: $(printf '%s' "$1" | LC_ALL=C tr '\001-\037\177' '?')"
	tab=$(printf '\t')
	cr=$(printf '\r')
	printf '"'
	printf '%s\n' "$1" | LC_ALL=C sed -e 's/[\\"]/\\&/g' -e "s/$tab/\\\\t/g" -e "s/$cr/\\\\r/g" |
		LC_ALL=C awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
	printf '"'
}

# ask METHOD PATH [BODY]: one request; the answer's lines go to standard output,
# or to standard error when they say why not. It ends the script.
ask() {
	[ -n "${FLOW_URL:-}" ] || fail "FLOW_URL is not set: give the address of the flow controller, such as http://127.0.0.1:8090"
	[ -n "${FLOW_TOKEN_FILE:-}" ] || fail "FLOW_TOKEN_FILE is not set: name the file with its token, such as .platform/secrets/flow.token"
	case $FLOW_URL in
	http://* | https://*) ;;
	*) fail "FLOW_URL \"$FLOW_URL\" must begin with http:// or https://" ;;
	esac
	token=$(cat "$FLOW_TOKEN_FILE") || fail "the token cannot be read from FLOW_TOKEN_FILE"
	case $token in
	'' | *[!A-Za-z0-9._~+/=-]*) fail "FLOW_TOKEN_FILE $FLOW_TOKEN_FILE holds no token" ;;
	esac
	umask 077
	work=$(mktemp -d) || fail "no directory for the answer could be made"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	: >"$work/answer"
	# The key makes an attempt whose answer was lost, and the one after it, one request.
	key=script:$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	actor=${USER:-script}
	case $actor in
	*[!A-Za-z0-9._-]*) actor=script ;;
	esac
	if command -v curl >/dev/null 2>&1; then
		by_curl "$@"
	elif wget --version 2>/dev/null | grep -q '^GNU Wget'; then
		by_wget "$@"
	else
		fail "neither curl nor GNU wget is installed"
	fi
	case $status in
	200 | 201) cat "$work/answer" ;;
	207) cat "$work/answer" && exit 3 ;;
	409) cat "$work/answer" >&2 && exit 2 ;;
	[1-9]*) fail "the flow controller answered $status: $(cat "$work/answer")" ;;
	*) fail "the flow controller at $FLOW_URL could not be asked: $(tr '\n' ' ' <"$work/log")" ;;
	esac
	exit 0
}

# The token reaches neither program by an argument, which every process could read.

by_curl() {
	method=$1 address=${FLOW_URL%/}$2
	shift 2
	[ $# -eq 0 ] || set -- --header 'Content-Type: application/json' --data-binary "$1"
	status=$(printf 'header = "Authorization: Bearer %s"\n' "$token" |
		curl -q --config - --silent --show-error --request "$method" "$@" \
			--header 'Accept: text/plain' --header "Idempotency-Key: $key" --header "X-Platform-Actor: $actor" \
			--connect-timeout 5 --max-time 300 --retry 3 --retry-delay 1 --output "$work/answer" --write-out '%{http_code}' \
			"$address" 2>"$work/log") || status=
}

by_wget() {
	method=$1 address=${FLOW_URL%/}$2
	shift 2
	[ $# -eq 0 ] || set -- --header='Content-Type: application/json' --body-data="$1"
	printf 'header = Authorization: Bearer %s\n' "$token" >"$work/wgetrc"
	wget --config="$work/wgetrc" --quiet --server-response --content-on-error --method="$method" "$@" \
		--header='Accept: text/plain' --header="Idempotency-Key: $key" --header="X-Platform-Actor: $actor" \
		--timeout=300 --connect-timeout=5 --tries=4 --max-redirect=0 --output-document="$work/answer" \
		"$address" 2>"$work/log" || : # what became of it is in the log
	status=$(sed -n 's|^ *HTTP/[0-9.]* \([0-9][0-9][0-9]\).*|\1|p' "$work/log" | tail -n 1)
}
