/** What makes the engine less safe than it should be, as far as a client can see. */
import type { StreamInfo } from '@nats-io/jetstream';
import type { EngineFinding } from '../transport.ts';
import { attempt } from './attempt.ts';
import type { Live } from './connection.ts';
import { hasLeader } from './history.ts';
import { streamsOf } from './layout.ts';
import { isNewEnough, NEEDED_VERSION } from './needed-version.ts';
import type { EngineOptions } from './options.ts';
import type { Parts } from './parts.ts';

const WANTED_PAYLOAD_BYTES = 8 << 20;
const NEEDED_PAYLOAD_BYTES = 2 << 20;
const CLOCKS_MAY_DIFFER_MS = 5_000;
/** Of the disk that JetStream may use. */
const ROOM_LEFT = 0.2;

export function inspect(parts: Parts, options: EngineOptions): Promise<readonly EngineFinding[]> {
  return attempt(parts, 'the engine cannot be inspected', async (live) => {
    const infos = await Promise.all(streamsOf(parts.layout.names).map((name) => live.jsm.streams.info(name)));
    return [
      ...ofServer(live, options),
      ...infos.flatMap((info) => ofStream(info, options.replicas)),
      ...ofClock(infos, parts.now()),
      ...(await ofRoom(live)),
      SYNC_INTERVAL,
    ];
  });
}

const SYNC_INTERVAL: EngineFinding = {
  problem: 'whether the servers sync each message to the disk cannot be seen from here',
  remedy:
    'See that the jetstream section of each server has sync_interval: always; by default what a power cut takes from most of them at once is lost.',
  isWarning: true,
};

function ofServer({ nc }: Live, { urls, user, token, caFile }: EngineOptions): EngineFinding[] {
  const found: EngineFinding[] = [];
  const { version = '0', max_payload: maxBytes = 0 } = nc.info ?? {};
  if (!isNewEnough(version)) {
    found.push({
      problem: `the NATS server is of version ${version}`,
      remedy: `Update all servers to ${NEEDED_VERSION} or newer: earlier ones may lose acknowledged messages.`,
      isWarning: false,
    });
  }
  if (maxBytes < WANTED_PAYLOAD_BYTES) {
    found.push({
      problem: `the engine takes messages of at most ${maxBytes} bytes; what a large product holds may be more`,
      remedy: 'Set max_payload: 8MB in the configuration of each server, and restart them one by one.',
      isWarning: maxBytes >= NEEDED_PAYLOAD_BYTES,
    });
  }
  if (caFile === null && !urls.some((url) => url.startsWith('tls:')) && nc.info?.tls_required !== true) {
    found.push({
      problem: 'what goes to the engine is not encrypted',
      remedy:
        'Give its servers certificates, and write tls:// in LOG_URL; or keep it to a network of its own.',
      isWarning: true,
    });
  }
  if (user === null && token === null) {
    found.push({
      problem: 'the engine asks for no credentials',
      remedy: 'Give its servers a user and a password, and set LOG_USER and LOG_PASSWORD.',
      isWarning: true,
    });
  }
  return found;
}

function ofStream(info: StreamInfo, replicas: number): EngineFinding[] {
  const { config, cluster } = info;
  const found: EngineFinding[] = [];
  const { name, num_replicas: kept } = config;
  if (config.storage !== 'file') {
    found.push({
      problem: `${name} is kept in memory alone`,
      remedy: `Delete it while nothing is forwarded (nats stream rm ${name}): it is made again, on disk.`,
      isWarning: false,
    });
  }
  if (kept < replicas) {
    found.push({
      problem: `${name} is kept by ${kept} of the ${replicas} servers that LOG_REPLICAS asks for`,
      remedy: `Run: nats stream edit ${name} --replicas ${replicas}`,
      isWarning: false,
    });
  } else if (kept === 1) {
    found.push({
      problem: `${name} is kept by one server: what that one loses is lost`,
      remedy: `Start three servers as one cluster, set LOG_REPLICAS=3, and run: nats stream edit ${name} --replicas 3`,
      isWarning: true,
    });
  }
  if (!hasLeader(info)) {
    found.push({
      problem: `${name} has no leader`,
      remedy: 'Start the servers of the engine that are down: more than half of them must be up.',
      isWarning: false,
    });
  }
  const followers = cluster?.replicas ?? [];
  const behind = followers.filter(({ current, offline }) => !current || offline);
  if (behind.length > 0 || (kept > 1 && followers.length < kept - 1)) {
    const names = behind.map((peer) => peer.name).join(', ');
    found.push({
      problem: `${name} is not up to date on all of its servers${names === '' ? '' : `: ${names}`}`,
      remedy: 'Start what is down, and wait until it has caught up, before another server is stopped.',
      isWarning: true,
    });
  }
  return found;
}

/** The leader says what time it is there. */
function ofClock(infos: readonly StreamInfo[], nowMs: number): EngineFinding[] {
  const differences = infos.map(({ ts }) => Math.abs(Date.parse(ts ?? '') - nowMs)).filter(Number.isFinite);
  const differsMs = Math.max(0, ...differences);
  if (differsMs <= CLOCKS_MAY_DIFFER_MS) return [];
  return [
    {
      problem: `the clock of the engine and the one here differ by ${Math.round(differsMs / 1_000)} s`,
      remedy: 'Keep the clocks of all machines by NTP.',
      isWarning: true,
    },
  ];
}

async function ofRoom({ jsm }: Live): Promise<EngineFinding[]> {
  const { storage, limits } = await jsm.getAccountInfo();
  const { max_storage: maxBytes } = limits;
  if (maxBytes <= 0 || storage < maxBytes * (1 - ROOM_LEFT)) return [];
  return [
    {
      problem: `the engine has used ${storage} of the ${maxBytes} bytes of disk that it may use`,
      remedy:
        'Give the account, and JetStream (max_file), more disk; when it is full, nothing more is taken.',
      isWarning: storage < maxBytes,
    },
  ];
}
