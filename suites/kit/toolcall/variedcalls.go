package toolcall

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

const (
	maxVariedCalls = 300
	// MaxVariedDuration is how long a call may have taken of which others are made.
	MaxVariedDuration = 500 * time.Millisecond
	// maxLargeDuration is how long a call may have taken of which others with large numbers are made.
	maxLargeDuration = 50 * time.Millisecond
)

// VariedCalls calls tools with further valid arguments (schemas.OtherArguments, OtherLargeNumbers): ValidCalls has one
// call of each, with no more arguments than required. First comes one such call of each tool, then a second one of
// each, as far as time permits. Only tools are called again that say that this does no harm, and whose arguments are
// free to choose. A read-only tool of which there are no other arguments is called three times with the same ones. A
// server may refuse other arguments, since it may know more of them than its schema says.
func VariedCalls(t *check.T) ToolCalls {
	if len(t.Server.Tools) == 0 || check.SavesRequests(t) || t.IsQuick() {
		return ToolCalls{}
	}
	valid := ValidCalls(t)
	return check.Step(t, "calls with other arguments", func(t *check.T) (calls ToolCalls) {
		calls.IsRepetition = true
		calls.RunInSessions(t, newVariedCalls(t, valid))
		return calls
	})
}

func newVariedCalls(t *check.T, valid ToolCalls) []*ToolCall {
	var rounds [][]*ToolCall
	for _, call := range valid.List {
		for n, arguments := range otherArguments(t, call) {
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], &ToolCall{Tool: call.Tool, Arguments: arguments})
		}
	}
	all := slices.Concat(rounds...)
	return all[:min(len(all), maxVariedCalls)]
}

// otherArguments are further valid arguments for a tool that was called; none when it is not to be called again.
func otherArguments(t *check.T, call ToolCall) []map[string]any {
	if !IsRepeatable(call.Tool) || !call.Reply.Answered() || call.Duration > MaxVariedDuration {
		return nil
	}
	all := variedArguments(t, call, schemas.OtherArguments)
	if call.Duration <= maxLargeDuration {
		all = append(all, variedArguments(t, call, schemas.OtherLargeNumbers)...)
	}
	if len(all) > 0 || !report.IsReadOnly(call.Tool.Value) {
		return all
	}
	return []map[string]any{call.Arguments, call.Arguments, call.Arguments}
}

// OtherChoices are arguments of a tool with other values of their enums and booleans, a few; none when they are not
// free to choose.
func OtherChoices(t *check.T, tool check.Subject, arguments check.M) []map[string]any {
	const few = 8
	all := variedArguments(t, ToolCall{Tool: tool, Arguments: arguments}, schemas.OtherChoices)
	return all[:min(len(all), few)]
}

// variedArguments are variations of the arguments of a call; none when these are not free to choose.
func variedArguments(
	t *check.T, call ToolCall, vary func(*schemas.Schema, map[string]any) []map[string]any,
) []map[string]any {
	if check.ExampleArguments(t, call.Tool.Name) != nil || CheckMayVary(t, call.Tool) != nil {
		return nil
	}
	schema, err := schemas.Compile(call.Tool.Value["inputSchema"], t.Revision)
	if err != nil || schema.Validate(call.Arguments) != nil {
		return nil
	}
	return vary(schema, call.Arguments)
}
