/** The connection over which a process shares its event log: to an engine or to a primary. Only that one is loaded. */
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
  /** It has no files yet. */
  readonly isNew: boolean;
  readonly log: Logger;
}

/** Does not wait for the connection. @throws Error when a package of the engine's client is missing. */
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
