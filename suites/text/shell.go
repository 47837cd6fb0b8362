package text

import "strings"

// Shell writes words as one would type them for a POSIX shell.
func Shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.ContainsAny(word, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// WrapShell breaks a command as Shell writes it between its words into lines of at most width characters, so that a
// shell takes them as one. Longer words stay whole.
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
