// Package kit is what checks of several areas share: stimuli that are given once, the record of a session put in pairs,
// and requests by hand.
package kit
