// Package benchdiff tells what changed between two reports of a bench from what is noise.
//
// Rows of the same scenario, protocol, client, size, load and proxy are compared by their rounds.
// A figure has changed if the Mann-Whitney U test says so of the rounds, as benchstat does. Two
// things make this hold for a table of figures from a machine with other work:
//
//   - What depends on the machine's speed is compared as a ratio to net/http's in the same
//     round, where both reports have it: a machine that was busier slows both. Where the ratio
//     changed because net/http's figure did, in the other direction, nothing is said.
//   - Of a hundred figures, five differ at a level of 0.05 by chance alone. The level is therefore
//     one for all figures together (Benjamini and Hochberg, 1995): where nothing has changed,
//     the whole comparison says that something has in one of twenty cases at most.
//
// It is a package of its own so that those who use package bench don't link the statistics.
package benchdiff
