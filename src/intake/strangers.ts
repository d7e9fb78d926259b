/**
 * Who may not sign may still connect. What a connection and an address may cost, and who is let in although nothing
 * signed came from there lately (docs/architecture.md#security). All of it in bounded memory.
 */
import { BlockList, isIPv6, type Socket } from 'node:net';
import type { Logger } from '../platform/log.ts';

interface StrangersDeps {
  /** Monotonic, ms. */
  readonly elapsed?: () => number;
  readonly log: Logger;
  /** A connection was closed unread. It may have carried a delivery. */
  readonly onTurnedAway: () => void;
}

/**
 * What one connection did so far. A proxy sends other people's requests over the same connections as the store's
 * deliveries: who has delivered may stray many times between two deliveries.
 */
interface Visitor {
  hasDelivered: boolean;
  /** Answers to what is no signed delivery, since the last one that was. */
  strayed: number;
  /** Strayed, delivered or asked for the health: more than nothing. */
  hasAsked: boolean;
  askedHealthAtMs: number;
  trustedAtMs: number;
}

const STRAYS_AFTER_DELIVERY = 16;
/** A balancer asks once in a few seconds. */
const HEALTH_EVERY_MS = 250;

/** An address is refused when so much strayed from there, and let in again when so little is left of it. */
const SHUT_AT = 1_000;
const OPEN_AT = 500;
/** Of what strayed from an address, so much is forgotten in a second: it is shut for ten seconds at most. */
const FORGOTTEN_PER_S = 50;
/** A delivery that was signed vouches for its address so long: a small store sends few. */
const TRUSTED_MS = 7 * 24 * 60 * 60_000;
const TRUST_AGAIN_MS = 60_000;
const MAX_ADDRESSES = 4_096;
const MAX_TRUSTED = 4_096;
const NEWS_EVERY_MS = 10_000;

interface Address {
  level: number;
  atMs: number;
  isShut: boolean;
}

/** Where proxies are: what comes from there is everybody's traffic. */
const NEAR = new BlockList();
for (const [net, prefix, family] of [
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
] as const) {
  NEAR.addSubnet(net, prefix, family);
}

const VISITOR = Symbol('visitor');
type Known = Socket & { [VISITOR]?: Visitor };

export class Strangers {
  readonly #deps: StrangersDeps;
  readonly #elapsed: () => number;
  /** Of those that strayed, the latest last. */
  readonly #addresses = new Map<string, Address>();
  /** When a signed delivery last came from there, the latest last. */
  readonly #trusted = new Map<string, number>();
  #refused = 0;
  #nextNewsAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: StrangersDeps) {
    this.#deps = deps;
    this.#elapsed = deps.elapsed ?? (() => performance.now());
  }

  /** Whether a connection is taken at all. */
  opens(socket: Socket): boolean {
    const key = keyOf(socket.remoteAddress);
    const address = key === null ? undefined : this.#addresses.get(key);
    if (key !== null && address !== undefined && !this.#isTrusted(key) && this.#isShut(address)) {
      this.#tell(key);
      this.#deps.onTurnedAway();
      return false;
    }
    const visitor = visitorOf(socket);
    socket.once('close', () => {
      // Silence, noise, half a request: it cost a connection for nothing.
      if (!visitor.hasAsked) this.#charge(key);
    });
    return true;
  }

  /** A signed delivery was answered. */
  delivered(socket: Socket): void {
    const visitor = visitorOf(socket);
    visitor.hasAsked = visitor.hasDelivered = true;
    visitor.strayed = 0;
    const nowMs = this.#elapsed();
    if (nowMs - visitor.trustedAtMs < TRUST_AGAIN_MS) return;
    visitor.trustedAtMs = nowMs;
    const key = keyOf(socket.remoteAddress);
    if (key === null) return;
    this.#addresses.delete(key);
    keepLatest(this.#trusted, key, nowMs, MAX_TRUSTED);
  }

  /** Something else was answered. @returns whether that answer is the connection's last. */
  strayed(socket: Socket): boolean {
    const visitor = visitorOf(socket);
    visitor.hasAsked = true;
    visitor.strayed += 1;
    this.#charge(keyOf(socket.remoteAddress));
    return !visitor.hasDelivered || visitor.strayed > STRAYS_AFTER_DELIVERY;
  }

  /** The health was asked for. @returns whether that answer is the connection's last. */
  askedHealth(socket: Socket): boolean {
    const visitor = visitorOf(socket);
    const nowMs = this.#elapsed();
    const isOften = nowMs - visitor.askedHealthAtMs < HEALTH_EVERY_MS;
    visitor.hasAsked = true;
    visitor.askedHealthAtMs = nowMs;
    return isOften && this.strayed(socket);
  }

  #charge(key: string | null): void {
    if (key === null || this.#isTrusted(key)) return;
    const address = this.#addresses.get(key) ?? { level: 0, atMs: this.#elapsed(), isShut: false };
    this.#forget(address);
    address.level += 1;
    address.isShut ||= address.level >= SHUT_AT;
    keepLatest(this.#addresses, key, address, MAX_ADDRESSES);
  }

  #isShut(address: Address): boolean {
    this.#forget(address);
    return address.isShut;
  }

  #forget(address: Address): void {
    const nowMs = this.#elapsed();
    address.level = Math.max(0, address.level - ((nowMs - address.atMs) / 1_000) * FORGOTTEN_PER_S);
    address.atMs = nowMs;
    if (address.level <= OPEN_AT) address.isShut = false;
  }

  #isTrusted(key: string): boolean {
    const atMs = this.#trusted.get(key);
    return atMs !== undefined && this.#elapsed() - atMs < TRUSTED_MS;
  }

  #tell(address: string): void {
    this.#refused += 1;
    const nowMs = this.#elapsed();
    if (nowMs < this.#nextNewsAtMs) return;
    this.#nextNewsAtMs = nowMs + NEWS_EVERY_MS;
    this.#deps.log.warn(
      { address, refused: this.#refused },
      'connections from an address are refused for a few seconds: it sends many requests that are not signed deliveries',
    );
  }
}

function visitorOf(socket: Known): Visitor {
  return (socket[VISITOR] ??= {
    hasDelivered: false,
    strayed: 0,
    hasAsked: false,
    askedHealthAtMs: Number.NEGATIVE_INFINITY,
    trustedAtMs: Number.NEGATIVE_INFINITY,
  });
}

function keepLatest<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest = key] = map.keys();
  if (map.size > most) map.delete(oldest);
}

/** @returns null for an address that is never refused. Of IPv6 the network, which is what one sender is given. */
export function keyOf(address: string | undefined): string | null {
  if (address === undefined || isNear(address)) return null;
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  const whole = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${whole.slice(0, 4).join(':')}::/64`;
}

function isNear(address: string): boolean {
  const [bare = ''] = address.split('%');
  return NEAR.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
}
