import type { z } from 'zod';
import { addressInputSchema } from '../../store-api/contract/order-schemas.ts';
import type { Ids } from './ids.ts';
import { OperationError } from './targets.ts';
import { ownAddresses } from './wares.ts';

type NewAddress = z.output<typeof addressInputSchema>;
export type StoredAddress = NewAddress & { readonly id: string };
type StoreAddress = StoredAddress & { readonly is_primary: boolean };

interface OwnAddress {
  readonly address: StoredAddress;
  isPrimary: boolean;
}

/** The store's own sender addresses and those of its customers. */
export class AddressBook {
  readonly #ids: Ids;
  // Maps keep insertion order: oldest first.
  readonly #own = new Map<string, OwnAddress>();
  readonly #customers = new Map<string, StoredAddress>();

  constructor({ ids }: { readonly ids: Ids }) {
    this.#ids = ids;
    // The primary address is not the oldest, so that confusing the two shows.
    ownAddresses.forEach((address, index) => {
      this.addOwn(addressInputSchema.parse(address), { isPrimary: index === 1 });
    });
  }

  /** The store's own: primary first, then oldest; the first is the default sender. */
  own(): readonly StoreAddress[] {
    const all = [...this.#own.values()].map(shown);
    return [...all.filter((each) => each.is_primary), ...all.filter((each) => !each.is_primary)];
  }

  addOwn(address: NewAddress, { isPrimary }: { readonly isPrimary: boolean }): StoreAddress {
    const entry = { address: { id: this.#ids.next(), ...address }, isPrimary };
    this.#own.set(entry.address.id, entry);
    return shown(entry);
  }

  /** None, one or several may be primary. */
  setPrimary(id: string, { isPrimary }: { readonly isPrimary: boolean }): void {
    const entry = this.#own.get(id);
    if (entry === undefined) throw new OperationError(`the store has no own address ${id}`);
    entry.isPrimary = isPrimary;
  }

  addCustomers(address: NewAddress): StoredAddress {
    const stored = { id: this.#ids.next(), ...address };
    this.#customers.set(stored.id, stored);
    return stored;
  }

  findOwn(id: string): StoredAddress | undefined {
    return this.#own.get(id)?.address;
  }

  /** An address of the store or of a customer. */
  find(id: string): StoredAddress | undefined {
    return this.findOwn(id) ?? this.#customers.get(id);
  }
}

function shown({ address, isPrimary }: OwnAddress): StoreAddress {
  return { ...address, is_primary: isPrimary };
}
