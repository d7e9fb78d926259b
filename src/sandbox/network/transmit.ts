import { Agent, request } from 'undici';
import type { Timers } from '../world/clock.ts';
import type { Delivery } from './webhooks.ts';

export type Transmission =
  | { readonly outcome: 'answered'; readonly status: number }
  | { readonly outcome: 'timeout' }
  | { readonly outcome: 'failed'; readonly problem?: string };

export interface Transmitter {
  /** Sends once, without retries ("Delivery rules" 2). */
  transmit(delivery: Delivery, url: string): Promise<Transmission>;
  close(): Promise<void>;
}

export function createTransmitter(deps: {
  readonly timers: Timers;
  readonly ackTimeoutMs: number;
}): Transmitter {
  const { timers, ackTimeoutMs } = deps;
  const agent = new Agent({ connections: 256, keepAliveTimeout: 4_000 });

  return {
    transmit: async (delivery, url) => {
      const abort = new AbortController();
      const timer = timers.setTimeout(() => {
        abort.abort();
      }, ackTimeoutMs);
      try {
        const response = await request(url, {
          method: 'POST',
          headers: delivery.headers,
          body: delivery.body,
          dispatcher: agent,
          signal: abort.signal,
        });
        response.body.dump({ limit: 16_384 }).catch(() => undefined);
        return { outcome: 'answered', status: response.statusCode };
      } catch (error) {
        return abort.signal.aborted
          ? { outcome: 'timeout' }
          : { outcome: 'failed', problem: reasonOf(error) };
      } finally {
        timers.clearTimeout(timer);
      }
    },
    close: () => agent.destroy(),
  };
}

function reasonOf(error: unknown): string {
  // A name with several addresses fails with one error per address.
  const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return first instanceof Error ? first.message : String(first);
}
