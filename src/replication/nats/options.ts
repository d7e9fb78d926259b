import type { Logger } from '../../platform/log.ts';

/** What the engine needs of the settings. */
export interface EngineOptions {
  /** `nats://` or `tls://`, with host and port, without secrets. */
  readonly urls: readonly string[];
  /** What streams and buckets are named after: letters, digits, `-` and `_`. */
  readonly store: string;
  /** How many servers keep everything. */
  readonly replicas: number;
  /** The process has no files yet: a stream that is missing was never there. */
  readonly isNew: boolean;
  readonly user: string | null;
  readonly password: string | null;
  readonly token: string | null;
  readonly caFile: string | null;
}

export interface EngineDeps {
  /** Of this process, as the servers show it. */
  readonly name: string;
  /** The version of the rules by which this process applies entries. */
  readonly rules: number;
  readonly log: Logger;
  readonly now: () => number;
}
