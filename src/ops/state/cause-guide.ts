/** What an operator asks about a cause beyond its message and remedy. docs/causes.md and the page show all four. */
import type { CauseCode } from './causes.ts';

interface Guide {
  readonly title: string;
  /** What the cause costs while it lasts. */
  readonly lost: string;
  /** How to know that it is over. */
  readonly over: string;
}

const CAUGHT_UP = 'The state returns to `live` once the waiting reads are done.';
const NO_WEBHOOK =
  'No webhook and no quantity. Lost webhooks are repaired later than usual, and their rows are not trusted meanwhile.';
const READS_AGAIN = 'The cause ends with the first read that succeeds; waiting reads follow.';

export const GUIDE: Readonly<Record<CauseCode, Guide>> = {
  stopped: {
    title: 'The mirror does not run, or hangs',
    lost: 'No trust is given meanwhile. Where a receiver runs as a process of its own, it still takes webhooks, and none is lost. In one process, the store’s webhooks fail, and everything is read after the start.',
    over: '`stock-mirror status` says `live`.',
  },
  starting: {
    title: 'The mirror is starting',
    lost: 'No webhook. No value is trusted until the inbox is applied.',
    over: 'The cause ends by itself, usually within 10 s.',
  },
  disk_full: {
    title: 'The disk is full',
    lost: 'No value is trusted. If the inbox is on the same disk, webhooks are refused, and the products that they name are read afterwards.',
    over: 'The mirror catches up within seconds after space is free.',
  },
  cannot_commit: {
    title: 'Webhooks cannot be stored',
    lost: 'Webhooks are refused. The products that they name are read afterwards.',
    over: '`curl` on `/healthz` of the public listener answers 200.',
  },
  no_receiver: {
    title: 'The receiver does not run',
    lost: 'Webhooks: the store sends each one once. Everything is read after the start of the receiver.',
    over: 'The receiver’s next heartbeat ends it. The state is then `catching_up` until everything is read.',
  },
  mirror_locked: {
    title: 'Another program locks the mirror’s file',
    lost: 'No webhook. No value is trusted until the lock is released.',
    over: 'The mirror catches up within seconds after the lock is released.',
  },
  mirror_failed: {
    title: 'The mirror’s file cannot be used',
    lost: 'No webhook. No value is trusted. If the file is lost, its history is lost too, unless there is a backup.',
    over: CAUGHT_UP,
  },
  apply_behind: {
    title: 'The mirror is too slow',
    lost: 'No webhook. No value is trusted while the mirror is behind.',
    over: '`stock_mirror_seconds_behind` falls to 0.',
  },
  stream_silent: {
    title: 'The stream is silent',
    lost: 'Nothing that a receiver has answered. No value of this mirror is trusted.',
    over: 'The next heartbeat from the stream ends it.',
  },
  stream_backlog: {
    title: 'The stream is behind',
    lost: 'No webhook. Values of the mirrors that are behind are not trusted.',
    over: '`stock_mirror_stream_backlog_rows` falls to 0.',
  },
  stream_refused: {
    title: 'The stream refuses a delivery',
    lost: 'No webhook. The other mirrors read the products that it names.',
    over: 'The cause ends when the servers accept the delivery.',
  },
  wrong_store: {
    title: 'The credentials belong to another store',
    lost: 'Webhooks are kept. Nothing is read, and no value is trusted.',
    over: 'It ends with the first read after the restart.',
  },
  credentials: {
    title: 'The store refuses the credentials',
    lost: 'No webhook. Lost webhooks are not repaired, and no value is trusted.',
    over: 'It ends with the first request that the store accepts.',
  },
  webhooks_missing: {
    title: 'Webhooks are missing',
    lost: 'The webhooks that did not arrive. Every product is read once they arrive again.',
    over: 'Change a quantity in the store’s app: the webhook that arrives ends the cause.',
  },
  refused_products: {
    title: 'The store refuses many products',
    lost: 'No webhook. No value is trusted, because quantities of the refused products may be wrong.',
    over: 'A `resync` ends without failures.',
  },
  held_removals: {
    title: 'Many products are gone from the store',
    lost: 'Nothing. Only the rows that are missing in the store are not trusted.',
    over: 'The list of held removals is empty.',
  },
  reads_overdue: {
    title: 'Reads are overdue',
    lost: 'No webhook. Rows that wait for a read are not trusted.',
    over: 'No read request is older than 15 min.',
  },
  store_unreachable: { title: 'The store cannot be reached', lost: NO_WEBHOOK, over: READS_AGAIN },
  store_down: { title: 'The store cannot be read', lost: NO_WEBHOOK, over: READS_AGAIN },
  store_slow: { title: 'The store does not answer in time', lost: NO_WEBHOOK, over: READS_AGAIN },
  not_the_store: { title: 'Another server answers', lost: NO_WEBHOOK, over: READS_AGAIN },
  rate_limited: {
    title: 'The store asks for a pause',
    lost: NO_WEBHOOK,
    over: 'The pause ends by itself.',
  },
  parked_reads: {
    title: 'Some products cannot be read',
    lost: 'No webhook. Rows of these products that are in doubt stay untrusted.',
    over: 'A `resync` of the products succeeds.',
  },
  list_gap: {
    title: 'The store cannot list its products',
    lost: 'No webhook and no known quantity. New products appear late, and deleted ones stay.',
    over: 'A `resync` lists the whole catalogue.',
  },
  unchecked: {
    title: 'Values were not checked in time',
    lost: 'No webhook. Rows that were not checked in time are not trusted.',
    over: 'The oldest check is younger than `VERIFY_WITHIN_HOURS`.',
  },
  requests_refused: {
    title: 'Requests were refused',
    lost: 'Nothing, if strangers sent them. Webhooks of the store among them are lost, and reads find what they changed.',
    over: 'It ends some time after the last refusal.',
  },
  clock_wrong: {
    title: 'The clock is wrong',
    lost: 'No quantity.',
    over: '`stock-mirror doctor` reports the clock as right.',
  },
  unproven: {
    title: 'No webhook has arrived yet',
    lost: 'Nothing is known to be lost, but no value is trusted before the first webhook.',
    over: 'The first webhook that the store signed ends it.',
  },
  first_read: {
    title: 'The catalogue is being read',
    lost: 'Nothing. Rows are not trusted until they are read.',
    over: 'It ends by itself when everything is read: 10,000 products take 200 s at 50 requests per second.',
  },
  downtime: {
    title: 'Everything is read again',
    lost: 'Webhooks of the downtime, if any. Rows are not trusted until they are read again.',
    over: 'It ends by itself when everything is read: 10,000 products take 200 s at 50 requests per second.',
  },
};
