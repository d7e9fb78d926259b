/** A public listener for one test webhook, on an event log of its own that is thrown away. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { createIntakeApp } from '../../intake/app.ts';
import { keepUnstored } from '../../intake/unstored.ts';
import { openStore } from '../../mirror/open-store.ts';
import { listen } from '../../platform/listen.ts';
import { createLog } from '../../platform/log.ts';
import { urlOf } from '../shared/listener-url.ts';

/** @throws Error when HOST and PORT cannot be listened on. */
export async function whileListening<T>(
  { webhook, service }: Pick<Config, 'webhook' | 'service'>,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-init-'));
  const log = createLog('silent');
  const ignore = () => undefined;
  try {
    const store = await openStore(join(folder, 'mirror.db'), { onDeath: ignore, onNews: ignore });
    await store.opened;
    const { writer } = store;
    const unstored = keepUnstored({ writer, now: Date.now, log });
    try {
      const app = createIntakeApp({
        writer,
        unstored,
        secrets: service.webhookSecrets.map((secret) => secret.reveal()),
        now: Date.now,
        heartbeat: { check: () => Promise.resolve(true) },
        observer: { committed: ignore, refused: ignore },
        log,
      });
      const listener = await listen(app, webhook.host, webhook.port);
      try {
        return await use(urlOf({ host: webhook.host, port: listener.port }, '/webhooks') ?? '');
      } finally {
        await listener.stop(0);
      }
    } finally {
      await unstored.stop();
      await store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
