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
  /** A person's word that holds back nothing any longer, told to whoever leads. */
  operatorWord: 'operator_word',
} as const;
