import { requireNats } from '../../app/nats.ts';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../platform/authority.ts';
import { messageOf } from '../../platform/thrown.ts';
import { MAX_BODY_BYTES } from '../../store-api/contract/body-limit.ts';
import { connectNats, KEPT_MS, REPLICAS, type NatsFacts } from '../../stream/nats.ts';
import { fail, ok, warn, type Finding } from './check.ts';

const NEEDED_VERSION = '2.10.23';
const HEADER_BYTES = 4 << 10;
const NEEDED_PAYLOAD_BYTES = MAX_BODY_BYTES + HEADER_BYTES;
const DAY_NS = 24 * 60 * 60 * 1e9;

export async function checkStream({ stream }: Config): Promise<Finding[]> {
  if (stream === null) return [];
  let engine;
  try {
    engine = await connectNats(await requireNats(), stream);
  } catch (error) {
    const at = stream.servers.join(', ');
    const remedy = 'check STREAM_URL, STREAM_USER, STREAM_PASSWORD, STREAM_CA_FILE and the network';
    return [fail(`no server of ${at} accepts a connection (${messageOf(error)})`, remedy)];
  }
  try {
    const clear = stream.servers.filter(
      (url) => url.startsWith('nats:') && !isLoopback(new URL(url).hostname),
    );
    const found = judgeStream(stream.name, await engine.facts());
    if (clear.length === 0 || stream.caFile !== null) return found;
    const message = `the connection to ${clear.join(', ')} is not encrypted`;
    return [...found, warn(message, 'let the servers use TLS, and write tls:// in STREAM_URL')];
  } finally {
    await engine.close();
  }
}

export function judgeStream(
  name: string,
  { serverVersion, maxPayloadBytes, log, last }: NatsFacts,
): Finding[] {
  const found: Finding[] = [];
  if (serverVersion.localeCompare(NEEDED_VERSION, 'en', { numeric: true }) < 0) {
    found.push(
      fail(`the server has version ${serverVersion}`, `install nats-server ${NEEDED_VERSION} or newer`),
    );
  }
  if (maxPayloadBytes < NEEDED_PAYLOAD_BYTES) {
    const message = `the server takes messages of at most ${maxPayloadBytes} bytes: the largest delivery does not fit`;
    found.push(fail(message, 'set `max_payload: 2MB` in the configuration of every server'));
  }
  if (log === null || last === null) {
    const message = `the streams ${name} and ${name}-last do not exist yet`;
    return [...found, warn(message, 'start a receiver or a mirror: it creates them')];
  }
  for (const { config } of [log, last]) {
    const edit = `nats stream edit ${config.name}`;
    if (config.storage !== 'file') {
      const remedy = `delete the stream while every host is stopped: the next start creates it on disk`;
      found.push(fail(`the stream ${config.name} is kept in memory`, remedy));
    }
    if (config.num_replicas < REPLICAS) {
      const message =
        `the stream ${config.name} has ${config.num_replicas} of ${REPLICAS} replicas: ` +
        'the loss of a server can lose deliveries';
      found.push(
        warn(message, `run a cluster of ${REPLICAS} servers, then \`${edit} --replicas ${REPLICAS}\``),
      );
    }
  }
  const { max_age: maxAgeNs } = log.config;
  if (maxAgeNs > 0 && maxAgeNs < KEPT_MS * 1e6) {
    const message =
      `the stream ${name} keeps messages for ${(maxAgeNs / DAY_NS).toFixed(1)} days: ` +
      'a mirror that is away for longer reads everything';
    found.push(warn(message, `\`nats stream edit ${name} --max-age 7d\``));
  }
  return found.length > 0 ? found : [ok(`server ${serverVersion}, ${REPLICAS} replicas on disk`)];
}
