package harness

// doubtful reports whether an outcome has to be confirmed.
func (e *Execution) doubtful(c Case, o outcome, used *scope) bool {
	switch {
	case used.with == nobody, o.confirmed(), e.confirmed(used.trouble()), e.spares(c, o):
		return false
	case used.with == doubters:
		return o.isGrave(c) || used.trouble().any()
	}
	return used.lent
}

// company is that in which an outcome is confirmed. A process is dear, and most of what does not pass is no grave fail:
// that is tried once more in a session that only such confirmations use, and alone if it is grave then.
func (e *Execution) company(c Case, o outcome, used *scope) company {
	if used.with == others && !o.isGrave(c) && e.target.Site == nil {
		return doubters
	}
	return nobody
}

// isGrave reports whether an outcome breaks a MUST or a requirement of the release checklist.
func (o outcome) isGrave(c Case) bool { return o.verdict == Fail && (o.level == Must || c.Checklist) }
