/** What the engine keeps for good besides entries and snapshots, by key (`Engine.state`). */
export const STATE_KEYS = {
  /** Which snapshots there are. Of an engine's own. */
  snapshots: 'snapshots',
  /** Of the newest snapshot. */
  snapshotEpoch: 'snapshot_epoch',
  /** What the lead knows of the receivers. */
  receivers: 'receivers',
  /** Credentials that were refused. */
  lockout: 'lockout',
  /** Changed by each resync an operator asks for. The lead then lifts lockouts and pauses. */
  operatorWord: 'operator_word',
} as const;
