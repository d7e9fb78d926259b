/** Colours of the standard output: on a terminal alone, unless it or its user wants none (NO_COLOR, TERM=dumb). */
import pc from 'picocolors';

// By itself the library also colours what a CI job writes to a pipe or a file; so it does when it is told nothing, and
// in a pipe `isTTY` is undefined.
export const colours = pc.createColors(process.stdout.isTTY ? pc.isColorSupported : false);
