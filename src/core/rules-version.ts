/**
 * Raised whenever the rules change what an entry does to the tables. The event log notes from which entry on which
 * version applied (`history.rules`).
 */
export const RULES_VERSION = 3;
