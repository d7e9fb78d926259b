import type { Config } from '../config/config.ts';
import { AlertSender } from '../ops/state/alert-sender.ts';
import type { Logger } from '../platform/log.ts';

/** @returns null if neither ALERT_URL nor ALERT_PING_URL is set. */
export function alertSender({ alerts }: Config, now: () => number, log: Logger): AlertSender | null {
  if (alerts.url === null && alerts.pingUrl === null) return null;
  return new AlertSender({
    ...alerts,
    now,
    log,
    async send(url, init) {
      // Loaded when it is needed: undici is large.
      const { fetchThroughProxy } = await import('../platform/proxy.ts');
      const response = await fetchThroughProxy(url, init);
      await response.body?.cancel();
      return response;
    },
  });
}
