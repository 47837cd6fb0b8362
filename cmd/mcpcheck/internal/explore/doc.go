// Package explore talks to a server as many clients might, and judges what was said: mcpcheck explore.
//
// A Script is a sequence of legal messages (script.go). The generator draws its steps one by one, from what the server
// lists and from what it has answered so far (generator.go, tools.go, tasks.go, handshake.go); the player sends them,
// and sends a script again in new sessions (player.go). The watches of the catalogue judge the sessions, as mcpcheck
// judge does, and a control asks in a new session what was refused (control.go). What fails has to fail again, and is
// shrunk to the shortest script that fails the same requirement (shrink.go).
//
// Contract: a tool is called only if report.CallPolicy permits it, and what the client sends is legal. The same seed
// draws the same steps from the same answers.
package explore
