/** What a process shares its event log through: an engine, or one primary. Only the one that is asked for is loaded. */
import type { SharedConfig } from '../config/config.ts';
import { RULES_VERSION } from '../core/rules-version.ts';
import type { Logger } from '../platform/log.ts';
import type { Engine, Source } from '../replication/transport.ts';

export interface Link {
  readonly source: Source;
  /** Null: entries are copied, and none are added. */
  readonly engine: Engine | null;
}

interface LinkArgs {
  /** Of this process, as servers show it. */
  readonly name: string;
  /** It has kept nothing yet. */
  readonly isNew: boolean;
  readonly log: Logger;
}

/** @throws Error when the packages of the engine are missing. Nothing that can be reached later is waited for. */
export async function connectLink(shared: SharedConfig, { name, isNew, log }: LinkArgs): Promise<Link> {
  const { url, store, replicas, user, password, token, caFile } = shared;
  if (url.kind === 'primary') {
    const { connectPrimary } = await import('../replication/http/connect.ts');
    const [address = ''] = url.urls;
    return { source: connectPrimary({ url: address, token: token?.reveal() ?? null, caFile }), engine: null };
  }
  const { connectEngine } = await import('../replication/nats/engine.ts');
  const engine = await connectEngine(
    {
      urls: url.urls,
      store,
      replicas,
      isNew,
      user,
      password: password?.reveal() ?? null,
      token: token?.reveal() ?? null,
      caFile,
    },
    { name, rules: RULES_VERSION, log, now: Date.now },
  );
  return { source: engine, engine };
}
