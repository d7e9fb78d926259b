import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { authorityOf } from '../platform/authority.ts';
import type { RunningService } from './platform.ts';
import { ConfigError, formatConfigError, loadConfig } from '../config/config.ts';
import { collectOnceLoaded, keepHeapsSmall } from '../platform/heap.ts';
import { requireNats } from './nats.ts';
import { SqliteFault } from '../sqlite/errors.ts';
import { startReceiverThread } from './receiver-thread.ts';
import { receiverSettings } from './receiver-settings.ts';

const STOP_WITHIN_MS = 4_500;
const LAST_WORDS_MS = 100;
/** prom-client's default of 10 ms wakes an idle process a hundred times a second. */
const EVENT_LOOP_SAMPLE_EVERY_MS = 100;
/** Opening a large mirror may take longer, but deliveries need only the inbox. */
const START_WITHIN_SECONDS = 60;
const START_NOTICE_SECONDS = 10;

const CODE_OF = { SIGTERM: 0, SIGHUP: 0, SIGINT: 130 } as const;

/** @returns the exit code (docs/operating.md#run). */
export async function runService(): Promise<number> {
  process.stderr.on('error', () => undefined);
  let config;
  try {
    config = loadConfig();
    if (config.stream !== null) await requireNats();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${formatConfigError(error)}\n`);
    return 2;
  }
  keepHeapsSmall();
  collectOnceLoaded();
  const asked = Promise.withResolvers<keyof typeof CODE_OF>();
  for (const signal of Object.keys(CODE_OF) as (keyof typeof CODE_OF)[]) {
    process.on(signal, () => asked.resolve(signal));
  }
  // The receiver's thread opens the inbox while this one loads the rest of the program. A process that only receives
  // needs no other thread.
  const receiver =
    config.role === 'both'
      ? startReceiverThread({ ...receiverSettings(config), logLevel: config.logLevel })
      : null;
  const [{ createLog, isJournal, openOutput }, startHost, { collectDefaultMetrics }] = await Promise.all([
    import('../platform/log.ts'),
    config.role === 'receiver'
      ? import('./receiver-host.ts').then(({ startReceiverHost }) => startReceiverHost)
      : import('./mirror-host.ts').then(({ startMirrorHost }) => startMirrorHost),
    import('prom-client'),
  ]);
  const output = openOutput(process.stdout, {
    format: config.logFormat,
    isJournal: isJournal(process.stdout.fd, config.journalStream),
  });
  const log = createLog(config.logLevel, output);
  // By default, Node writes its warnings to stderr and waits until they are read.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning from Node or a library'));
  for (const { name, problem, remedy } of config.warnings)
    log.warn({ remedy }, `configuration: ${name} ${problem}`);
  const ending = Promise.withResolvers<number>();
  const onDeath = (error: Error): void => {
    log.fatal(
      { err: error },
      'the receiver has failed and the process ends: start it again; if it fails at once, run `stock-mirror doctor`',
    );
    ending.resolve(1);
  };
  void asked.promise.then((signal) => {
    log.info({ signal }, 'stopping');
    ending.resolve(CODE_OF[signal]);
  });

  const starting = startHost(config, log, onDeath, {
    receiverThread: receiver === null ? null : (events) => receiver.running(events, output),
  });
  let service;
  try {
    service = await Promise.race([startInTime(starting, log), ending.promise]);
  } catch (error) {
    const text = error instanceof Error ? describe(error) : String(error);
    process.stderr.write(`error: ${text}\n`);
    // A slow start could still succeed.
    await endStart(starting, log);
    return 1;
  }
  if (typeof service === 'number') {
    await endStart(starting, log);
    return service;
  }
  collectDefaultMetrics({
    register: service.metrics,
    eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_EVERY_MS,
  });
  log.info(
    {
      kind: 'listening',
      ...(service.webhook === null ? {} : { webhooks: `http://${authorityOf(service.webhook)}/webhooks` }),
      ops: `http://${authorityOf(service.ops)}/`,
      database: config.database.path,
    },
    'listening',
  );
  const code = await ending.promise;
  const stopped = service
    .stop()
    .catch((error: unknown) =>
      log.error(
        { err: error },
        'stopping failed: every answered delivery is on disk, and the next start repairs the rest',
      ),
    );
  await endInTime(stopped, () =>
    log.error('draining took too long; the process ends now: every answered delivery is on disk'),
  );
  log.info({ cause: 'stopped' }, 'stopped');
  return code;
}

/** Awaits `starting`, logging at intervals. @throws Error when it takes too long. */
export async function startInTime<T>(starting: Promise<T>, log: Pick<Logger, 'warn'>): Promise<T> {
  const started = new AbortController();
  const tooLong = async (): Promise<never> => {
    for (let seconds = START_NOTICE_SECONDS; ; seconds += START_NOTICE_SECONDS) {
      await wait(START_NOTICE_SECONDS * 1_000, undefined, { ref: false, signal: started.signal });
      if (seconds >= START_WITHIN_SECONDS) {
        throw new Error(`the inbox could not be opened within ${seconds} s: check that its disk answers.`);
      }
      log.warn({ seconds }, 'still starting: the inbox is being opened');
    }
  };
  return await Promise.race([starting, tooLong()]).finally(() => started.abort());
}

/** Ends a start under way; its files are complete or absent. */
async function endStart(starting: Promise<RunningService>, log: Logger): Promise<void> {
  const ended = starting.then(
    (service) => service.stop(),
    () => undefined,
  );
  await endInTime(ended, () => log.error('the start hangs in a system call; the process ends now'));
}

/** Kills the process if it lives for too long, whether `ended` hangs or something else keeps it alive. */
async function endInTime(ended: Promise<void>, onTooLate: () => void): Promise<void> {
  const tooLate = setTimeout(() => {
    onTooLate();
    // process.exit() would wait for log output that no one reads.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_WORDS_MS);
  }, STOP_WITHIN_MS);
  await ended;
  // Log output that no one reads must not keep the process alive.
  tooLate.unref();
}

function describe(error: Error): string {
  if (error instanceof SqliteFault || !(error.cause instanceof Error)) return error.message;
  return `${error.message} (${error.cause.message})`;
}
