/** What the event log is shared through: can it be reached, and does it keep what it should? */
import type { Link } from '../../app/link.ts';
import { CannotFollow, TransportError, type Engine, type Source } from '../../replication/transport.ts';
import { fail, ok, warn, type Check } from './check.ts';

const WITHIN_MS = 10_000;
/** That of no event log. */
const NO_EPOCH = '0';

export async function checkReplication({ engine, source }: Link): Promise<Check[]> {
  return engine === null ? [await checkPrimary(source)] : checkEngine(engine);
}

async function checkEngine(engine: Engine): Promise<Check[]> {
  try {
    const findings = await engine.inspect();
    const reached = ok('engine', `${engine.name} answers`);
    return [
      reached,
      ...findings.map(({ problem, remedy, isWarning }) =>
        (isWarning ? warn : fail)('engine', problem, remedy),
      ),
    ];
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return [
      fail(
        'engine',
        `${engine.name}: ${error.message}`,
        'see that its servers run and can be reached from here, and that LOG_URL, LOG_USER and LOG_PASSWORD or LOG_TOKEN are right',
      ),
    ];
  }
}

/** Whatever it has to say of a log that it does not know, it has answered. */
async function checkPrimary(source: Source): Promise<Check> {
  const signal = AbortSignal.timeout(WITHIN_MS);
  const answered = ok('primary', `${source.name} answers`);
  try {
    for await (const batch of source.follow({ epoch: NO_EPOCH, lastSeq: 0, cursor: null }, signal)) {
      return batch.isLive
        ? answered
        : warn('primary', `${source.name} is behind itself`, 'see its own status');
    }
  } catch (error) {
    if (error instanceof CannotFollow) return answered;
    if (!(error instanceof TransportError)) throw error;
    return fail(
      'primary',
      `${source.name}: ${error.message}`,
      'see that it runs, and that LOG_URL and LOG_TOKEN are right',
    );
  }
  return fail(
    'primary',
    `${source.name} does not answer in time`,
    'see that it runs and can be reached from here',
  );
}
