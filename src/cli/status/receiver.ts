/** The state of a host that only receives, as its inbox shows it to other processes. */
import { inboxPath, openInboxReader, readReceiver } from '../../inbox/inbox-file.ts';
import { judge, receiverCause, type Verdict } from '../../ops/state/state.ts';
import { isThere } from '../../sqlite/is-there.ts';

/** @throws SqliteFault; Error if no receiver has ever run here. */
export function readReceiverState(databasePath: string): Verdict {
  const path = inboxPath(databasePath);
  if (!isThere(path)) {
    throw new Error(
      `no receiver runs, and ${path} does not exist: run \`stock-mirror serve\`, or correct DATABASE_PATH`,
    );
  }
  const db = openInboxReader(databasePath);
  try {
    const cause = receiverCause({ ...readReceiver(db), nowMs: Date.now() });
    return judge(cause === null ? [] : [cause]);
  } finally {
    db.close();
  }
}
