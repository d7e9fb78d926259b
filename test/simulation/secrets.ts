/** The webhook secret of the store and those of the mirror, which for a while do not fit. */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import type { Machine } from './machine.ts';
import type { WayInDeed } from './way-in-plan.ts';

type SecretFault = Extract<WayInDeed, { do: 'secret' }>['how'];

export class Secrets {
  readonly #service: SimulatedService;
  readonly #machines: ReadonlySet<Machine>;
  #replaced = 0;

  /** @param machines those of one host. */
  constructor(service: SimulatedService, machines: ReadonlySet<Machine>) {
    this.#service = service;
    this.#machines = machines;
  }

  begin(how: SecretFault): void {
    if (how === 'mistyped') return this.#startWith(`mistyped ${this.#service.network.webhookSecret}`);
    this.#replaced += 1;
    this.#service.network.webhookSecret = `another secret ${this.#replaced}`;
  }

  /** An operator corrects the setting. */
  putRight(): void {
    this.#startWith(this.#service.network.webhookSecret);
  }

  /** A machine that is down has it at its next start. */
  #startWith(secret: string): void {
    for (const machine of this.#machines) {
      machine.webhookSecrets = [secret];
      if (!machine.isRunning) continue;
      // Otherwise it was killed meanwhile, and starts as after a kill.
      void machine.stop().then((isInOrder) => {
        if (isInOrder) void machine.start();
      });
    }
  }
}
