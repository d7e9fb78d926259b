import pc from 'picocolors';

/**
 * Colours only on a terminal. By default the library also colours a CI job's pipes; `undefined` leaves it the choice.
 */
export const colours = pc.createColors(process.stdout.isTTY ? pc.isColorSupported : false);
