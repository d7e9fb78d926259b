/** Titles, losses and ends of the causes. docs/causes.md and the page show them with each message and remedy. */
import type { CauseCode } from './causes.ts';

interface Guide {
  readonly title: string;
  /** Webhooks or history lost while the cause lasts; omitted: no webhook. The severity shows whether values are trusted. */
  readonly lost?: string;
  /** How to know that it is over. */
  readonly over: string;
}

const CAUGHT_UP = 'The state returns to `live` once the waiting reads are done.';
const ALL_READ = 'Everything is read: 10,000 products take 200 s at 50 requests per second.';
const READS_AGAIN = 'The first read that succeeds ends it.';

const GUIDE: Readonly<Record<CauseCode, Guide>> = {
  stopped: {
    title: 'The mirror does not run, or hangs',
    lost: 'Nothing, if a separate receiver takes the webhooks. Otherwise webhooks, and everything is read after the start.',
    over: '`stock-mirror status` says `live`.',
  },
  starting: {
    title: 'The mirror is starting',
    over: 'It ends without help, usually within 10 s.',
  },
  disk_full: {
    title: 'The disk is full',
    lost: 'Products that a refused webhook named are read afterwards.',
    over: 'The mirror catches up within 10 s.',
  },
  cannot_commit: {
    title: 'Webhooks cannot be stored',
    lost: 'The products that refused webhooks named are read afterwards.',
    over: '`curl` on `/healthz` of the public listener answers 200.',
  },
  no_receiver: {
    title: 'The receiver does not run',
    lost: 'Webhooks. Everything is read once the receiver runs.',
    over: 'The receiver’s next heartbeat ends it.',
  },
  mirror_locked: {
    title: 'Another program locks the mirror’s file',
    over: 'The mirror catches up within 10 s.',
  },
  mirror_failed: {
    title: 'The mirror’s file cannot be used',
    lost: 'The history, if the file is lost and there is no backup.',
    over: CAUGHT_UP,
  },
  apply_behind: {
    title: 'The mirror is too slow',
    over: '`stock_mirror_seconds_behind` falls to 0.',
  },
  stream_silent: {
    title: 'The stream is silent',
    lost: 'No webhook that a receiver has answered. If no receiver listened, everything is read.',
    over: 'The next heartbeat ends it.',
  },
  stream_backlog: {
    title: 'The stream is behind',
    over: '`stock_mirror_stream_backlog_rows` falls to 0.',
  },
  stream_refused: {
    title: 'The stream refuses a delivery',
    over: 'The cause ends when the servers accept the delivery.',
  },
  wrong_store: {
    title: 'The credentials belong to another store',
    over: 'The first read after the restart ends it.',
  },
  credentials: {
    title: 'The store refuses the credentials',
    over: 'The first request that the store accepts ends it.',
  },
  webhooks_missing: {
    title: 'Webhooks are missing',
    lost: 'The webhooks that did not arrive.',
    over: 'Change a quantity in the store’s app: its webhook ends the cause.',
  },
  refused_products: {
    title: 'The store refuses many products',
    over: 'A `resync` ends without failures.',
  },
  held_removals: {
    title: 'Many products are gone from the store',
    over: 'The list of held removals is empty.',
  },
  reads_overdue: {
    title: 'Reads are overdue',
    over: 'No read request is older than 15 min.',
  },
  store_unreachable: { title: 'The store cannot be reached', over: READS_AGAIN },
  store_down: { title: 'The store cannot be read', over: READS_AGAIN },
  store_slow: { title: 'The store does not answer in time', over: READS_AGAIN },
  not_the_store: { title: 'Another server answers', over: READS_AGAIN },
  rate_limited: {
    title: 'The store asks for a pause',
    over: 'The pause ends without help.',
  },
  parked_reads: {
    title: 'Some products cannot be read',
    over: 'A `resync` of the products succeeds.',
  },
  list_gap: {
    title: 'The store cannot list its products',
    over: 'The next complete list ends it, such as that of `stock-mirror resync`.',
  },
  unchecked: {
    title: 'Values were not checked in time',
    over: 'The oldest check is younger than `VERIFY_WITHIN_HOURS`.',
  },
  requests_refused: {
    title: 'Requests were refused',
    lost: 'Webhooks, if any were among them. Reads find what they changed.',
    over: 'It ends some time after the last refusal.',
  },
  clock_wrong: {
    title: 'The clock is wrong',
    over: '`stock-mirror doctor` reports the clock as right.',
  },
  unproven: {
    title: 'No webhook has arrived yet',
    lost: 'Possibly webhooks. Everything is read after the first one.',
    over: 'The first webhook that the store signed ends it.',
  },
  first_read: {
    title: 'The catalogue is being read',
    lost: 'Nothing. Rows are not trusted until they are read.',
    over: ALL_READ,
  },
  downtime: {
    title: 'Everything is read again',
    lost: 'Webhooks of the downtime, if any.',
    over: ALL_READ,
  },
};

export function guideOf(code: CauseCode): Required<Guide> {
  return { lost: 'No webhook.', ...GUIDE[code] };
}
