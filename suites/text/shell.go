package text

import "strings"

// Shell returns words as one would type them in a POSIX shell, quoted where necessary.
func Shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.ContainsAny(word, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// WrapShell breaks a command in the format of Shell between its words into lines of at most width characters. A shell
// reads the lines as one command. Words that are longer than width stay whole.
func WrapShell(command string, width int) (lines []string) {
	var line string
	quoted := false
	words := strings.SplitAfter(command, " ")
	for i, word := range words {
		room := width
		if i < len(words)-1 {
			room -= len(`\ `)
		}
		if line != "" && !quoted && columns(line+strings.TrimRight(word, " ")) > room {
			lines = append(lines, line+`\`)
			line = "  "
		}
		line += word
		quotes := strings.Count(word, "'") - strings.Count(word, `\'`)
		quoted = quoted != (quotes%2 == 1)
	}
	return append(lines, line)
}
