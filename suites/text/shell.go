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
