/**
 * Colours of the standard output: only on a terminal, and only where neither it nor its user objects (NO_COLOR,
 * TERM=dumb).
 */
import pc from 'picocolors';

// Left to itself the library also colours what a CI job writes to a pipe or a file. In a pipe `isTTY` is undefined,
// which the library would take for no answer.
export const colours = pc.createColors(process.stdout.isTTY ? pc.isColorSupported : false);
