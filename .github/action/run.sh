#!/usr/bin/env bash
# The second step of action.yml: runs mcpcheck with the inputs, which come as
# environment variables, and turns its reports into outputs and a summary.
#
# It keeps to bash 3.2, which is what macOS has.
set -euo pipefail

# wrong ends the step: an input is not as it should be.
wrong() {
	echo "::error title=mcpcheck::$1"
	reports=/dev/null # what an earlier run has left there says nothing of this one
	output 2
	exit 2
}

# split puts the words of a text into the array words. Several lines are a word each.
# One line is split as a POSIX shell splits it; nothing is expanded.
split() {
	local text=$1 line word='' quote='' open='' c next i
	words=()
	while [[ $text == *[$'\r\n'] ]]; do text=${text%?}; done # as YAML's block style has it
	if [[ $text == *$'\n'* ]]; then
		while IFS= read -r line; do words+=("${line%$'\r'}"); done <<<"$text"
		return
	fi
	for ((i = 0; i < ${#text}; i++)); do
		c=${text:i:1}
		next=${text:i+1:1}
		if [[ -n $quote && $c == "$quote" ]]; then
			quote=
		elif [[ $quote == "'" ]]; then
			word+=$c
		elif [[ $c == \\ ]] && [[ -z $quote || $next == [\"\\\$\`] ]]; then
			word+=$next open=1
			i=$((i + 1))
		elif [[ -n $quote ]]; then
			word+=$c
		elif [[ $c == [\"\'] ]]; then
			quote=$c open=1 # a word, even if nothing is between the quotes
		elif [[ $c == [[:blank:]] ]]; then
			if [[ -n $open ]]; then words+=("$word"); fi
			word='' open=
		else
			word+=$c open=1
		fi
	done
	if [[ -n $quote ]]; then wrong "a quote is not closed: $text"; fi
	if [[ -n $open ]]; then words+=("$word"); fi
}

# report prints where a report is, for later steps, which are in the workspace.
report() {
	if [[ -e $reports/$1 ]]; then echo "$shown/$1"; fi
}

# output sets the outputs, all of them: what a server gets printed cannot set the rest.
output() {
	local verdict=error counts='' gating=''
	case $1 in
	0) verdict=conforms ;;
	1) verdict=fails ;;
	2) verdict=usage ;;
	3) verdict=untestable ;;
	130) verdict=interrupted ;;
	esac
	# The report is indented, and its strings hold no line breaks: no text of a server
	# can look like the member counts of the report.
	if [[ -e $reports/report.json ]]; then
		counts=$(sed -n '/^  "counts": {/,/^  }/p' "$reports/report.json" | tr -d ' \r\n')
		counts=${counts#'"counts":'}
		counts=${counts%,}
		gating=${counts##*'"gating":'}
		gating=${gating%%[!0-9]*}
	fi
	cat >>"$GITHUB_OUTPUT" <<-END
		verdict=$verdict
		exit-code=$1
		counts=$counts
		gating=$gating
		report-dir=$shown
		junit=$(report report.xml)
		sarif=$(report report.sarif)
		markdown=$(report report.md)
	END
}

reports=$INPUT_REPORT_DIR
shown=$reports
if [[ $reports != /* && $reports != [A-Za-z]:* && $INPUT_WORKING_DIRECTORY != . ]]; then
	shown=${INPUT_WORKING_DIRECTORY%/}/$reports
fi
if [[ -z $reports || $shown == *[$'\r\n']* ]]; then
	shown=
	wrong "report-dir and working-directory are to be paths, each on one line"
fi
for flag in "$INPUT_SUMMARY" "$INPUT_FAIL"; do
	if [[ $flag != true && $flag != false ]]; then wrong "summary and fail are to be true or false"; fi
done

cd "$INPUT_WORKING_DIRECTORY" || wrong "working-directory: there is no $INPUT_WORKING_DIRECTORY"
# What an earlier run has left must not be taken for this one's.
rm -f -- "$reports"/report.{json,xml,md,sarif} "$reports"/badge.{svg,json}

call=(run --report-dir "$reports")
if [[ -n $INPUT_URL ]]; then call+=(--url "$INPUT_URL"); fi
if [[ -n $INPUT_PROFILE ]]; then call+=(--profile "$INPUT_PROFILE"); fi
if [[ -n $INPUT_PROTOCOL ]]; then call+=(--protocol "$INPUT_PROTOCOL"); fi
if [[ -n $INPUT_BASELINE ]]; then call+=(--baseline "$INPUT_BASELINE"); fi
if [[ -n $INPUT_CONFIG ]]; then call+=(--config "$INPUT_CONFIG"); fi
split "$INPUT_ARGS"
call+=(${words[@]+"${words[@]}"}) # bash 3.2 has no other way to expand an array that may be empty
split "$INPUT_COMMAND"
if ((${#words[@]})); then call+=(-- "${words[@]}"); fi

# On Windows, bash would take an argument that begins with a slash for a path of its
# own and rewrite it.
status=0
MSYS2_ARG_CONV_EXCL='*' "$MCPCHECK" "${call[@]}" || status=$?

output "$status"
if [[ $INPUT_SUMMARY == true && -e $reports/report.md ]]; then cat "$reports/report.md" >>"$GITHUB_STEP_SUMMARY"; fi
case $status in
0) ;;
1 | 3) if [[ $INPUT_FAIL == true ]]; then exit "$status"; fi ;;
*)
	if [[ ! -e $reports/report.json ]]; then # or mcpcheck has annotated it itself
		echo "::error title=mcpcheck::mcpcheck ended with exit code $status: the log of this step says why"
	fi
	exit "$status"
	;;
esac
