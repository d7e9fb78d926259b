import type { z } from 'zod';
import { addressInputSchema } from '../../store-api/contract/order-schemas.ts';
import type { Ids } from './ids.ts';
import { ownAddresses } from './wares.ts';

type NewAddress = z.output<typeof addressInputSchema>;
type StoredAddress = NewAddress & { readonly id: string };

interface Entry {
  readonly address: StoredAddress;
  /** null for a customer's address. */
  isPrimary: boolean | null;
}

export class AddressBook {
  readonly #ids: Ids;
  readonly #entries = new Map<string, Entry>();

  constructor({ ids }: { readonly ids: Ids }) {
    this.#ids = ids;
    // The primary address is not the oldest, so that confusing them shows.
    ownAddresses.forEach((address, index) => {
      this.addOwn(addressInputSchema.parse(address), { isPrimary: index === 1 });
    });
  }

  /** Primary first, then oldest; the first is the default sender. */
  own() {
    return [...this.#entries.values()]
      .flatMap(({ address, isPrimary }) =>
        isPrimary === null ? [] : [{ ...address, is_primary: isPrimary }],
      )
      .sort((a, b) => Number(b.is_primary) - Number(a.is_primary));
  }

  addOwn(address: NewAddress, { isPrimary }: { readonly isPrimary: boolean }) {
    return { ...this.#add(address, isPrimary), is_primary: isPrimary };
  }

  addCustomers(address: NewAddress): StoredAddress {
    return this.#add(address, null);
  }

  findOwn(id: string): StoredAddress | undefined {
    const entry = this.#entries.get(id);
    return entry?.isPrimary === null ? undefined : entry?.address;
  }

  find(id: string): StoredAddress | undefined {
    return this.#entries.get(id)?.address;
  }

  #add(address: NewAddress, isPrimary: boolean | null): StoredAddress {
    const stored = { id: this.#ids.next(), ...address };
    this.#entries.set(stored.id, { address: stored, isPrimary });
    return stored;
  }
}
