import pc from 'picocolors';

/** Only on a terminal: by default the library colours a CI job's pipes too. `undefined` leaves it the choice. */
export const colours = pc.createColors(process.stdout.isTTY ? pc.isColorSupported : false);
